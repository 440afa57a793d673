#include "agent/symbols/method_name.h"
#include "agent/profilers/pauses/pause_report.h"
#include "agent/report/report_file.h"
#include "agent/report/old_json.h"
#include "common/base/text.h"
#include "common/proto/channel_stops.h"

#include <inttypes.h>
#include <string.h>

#define GROUPS_MAX 50

static void put_us(struct report_file *f, const char *key, int64_t ns)
{
	old_json_number(f, key, (double)ns / 1000.0, 1);
}

static void put_spread(struct report_file *f, const char *key, const struct pause_spread *s)
{
	buf_printf(&f->text, ",\"%s\":{\"p50Microseconds\":%.1f", key, (double)s->p50_ns / 1000.0);
	put_us(f, "p95Microseconds", s->p95_ns);
	put_us(f, "p99Microseconds", s->p99_ns);
	put_us(f, "maxMicroseconds", s->max_ns);
	put_us(f, "totalMicroseconds", s->total_ns);
	buf_puts(&f->text, "}");
}

static void put_totals(const struct pause_analysis *a, struct report_file *f)
{
	const struct pause_capture *c = a->capture;
	buf_printf(&f->text, ",\n\"pauses\":{\"count\":%zu", c->pause_count);
	old_json_number(f, "sharePercent", a->share_percent, 4);
	old_json_number(f, "perMinute", a->per_minute, 2);
	put_spread(f, "length", &a->length);
	put_spread(f, "suspending", &a->suspending);
	put_spread(f, "stopped", &a->stopped);
	put_us(f, "resumingMicroseconds", c->resuming_ns);
	old_json_integer(f, "dropped", (int64_t)c->dropped);
	old_json_integer(f, "abandoned", (int64_t)c->abandoned);
	buf_puts(&f->text, "},\n\"cpu\":{");
	size_t at = f->text.len;
	old_json_known(f, "throttledPeriods", c->throttled_periods);
	old_json_known(f, "periods", c->periods);
	old_json_known(f, "throttledMicroseconds", c->throttled_ns < 0 ? -1 : c->throttled_ns / 1000);
	f->text.data[at] = ' '; /* the first member has no comma before it */
	buf_puts(&f->text, "}");
}

/* The sums of a group, after its first members. */
static void put_sum(const struct pause_sum *s, struct report_file *f)
{
	old_json_integer(f, "count", s->count);
	put_us(f, "totalMicroseconds", s->total_ns);
	put_us(f, "longestMicroseconds", s->longest_ns);
}

static void put_named_sums(const struct pause_analysis *a, const char *key, const char *member, const struct pause_sum *sums, size_t count,
			   bool causes, struct report_file *f)
{
	buf_printf(&f->text, ",\n\"%s\":[", key);
	for (size_t i = 0; i < count; i++) {
		uint32_t x = sums[i].index;
		buf_printf(&f->text, "%s{\"%s\":\"%s\"", i ? ",\n" : "\n", member, causes ? pause_cause_name(x) : pause_reason_name(x));
		old_json_shown(f, "title", causes ? pause_cause_title(x) : pause_reason_title(x));
		put_sum(&sums[i], f);
		old_json_number(f, "sharePercent", pause_analysis_percent(a, sums[i].total_ns), 2);
		if (causes)
			old_json_integer(f, "lookedAt", sums[i].looked);
		buf_puts(&f->text, "}");
	}
	buf_puts(&f->text, "]");
}

static void put_generations(const struct pause_analysis *a, struct report_file *f)
{
	const char *comma = "\n";
	buf_puts(&f->text, ",\n\"generations\":[");
	for (int g = 0; g < 3; g++)
		for (int background = 0; background < 2; background++) {
			const struct pause_collections *c = &a->capture->collections[g][background];
			const struct pause_sum *s = &a->by_generation[g][background];
			if (!c->count && !s->count)
				continue;
			buf_printf(&f->text, "%s{\"generation\":%d", comma, g);
			old_json_bool(f, "background", background);
			old_json_integer(f, "collections", c->count);
			old_json_integer(f, "induced", c->induced);
			old_json_integer(f, "pauses", s->count);
			put_us(f, "totalMicroseconds", s->total_ns);
			put_us(f, "longestMicroseconds", s->longest_ns);
			buf_puts(&f->text, "}");
			comma = ",\n";
		}
	buf_puts(&f->text, "]");
}

static void put_histogram(const struct pause_analysis *a, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"histogram\":{\"fromMicroseconds\":[");
	for (size_t i = 0; i < PAUSE_HISTOGRAM_STEPS; i++)
		buf_printf(&f->text, "%s%" PRId64, i ? "," : "", pause_histogram_from_us(i));
	buf_puts(&f->text, "],\"pauses\":[");
	for (size_t i = 0; i < PAUSE_HISTOGRAM_STEPS; i++)
		buf_printf(&f->text, "%s%" PRIu32, i ? "," : "", a->histogram[i]);
	buf_puts(&f->text, "],\"suspending\":[");
	for (size_t i = 0; i < PAUSE_HISTOGRAM_STEPS; i++)
		buf_printf(&f->text, "%s%" PRIu32, i ? "," : "", a->histogram_suspending[i]);
	buf_puts(&f->text, "]}");
}

static void put_method(const struct pause_analysis *a, const char *key, uint32_t frame, struct report_file *f)
{
	struct method_name name;
	if (frame != PAUSE_NONE)
		method_name_make(&a->capture->stacks.frames[frame], &name);
	old_json_shown(f, key, frame == PAUSE_NONE ? NULL : name.text);
}

static void put_stack(const struct pause_analysis *a, uint32_t stack, struct report_file *f)
{
	const struct cpu_capture *stacks = &a->capture->stacks;
	put_method(a, "method", pause_stack_method(stacks, stack), f);
	buf_puts(&f->text, ",\"stack\":[");
	for (uint32_t i = 0; stack != PAUSE_NONE && i < stacks->stacks[stack].depth; i++) {
		struct method_name name;
		method_name_make(&stacks->frames[stacks->stack_frames[stacks->stacks[stack].first + i]], &name);
		buf_puts(&f->text, i ? "," : "");
		text_append_json(&f->text, name.text, strlen(name.text));
	}
	buf_puts(&f->text, "]");
}

static void put_inducers(const struct pause_analysis *a, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"inducers\":[");
	for (size_t i = 0; i < a->inducer_count && i < GROUPS_MAX; i++) {
		const struct pause_sum *s = &a->by_inducer[i];
		buf_puts(&f->text, i ? ",\n{" : "\n{");
		size_t at = f->text.len;
		put_stack(a, a->capture->inducers[s->index], f);
		f->text.data[at] = ' ';
		put_sum(s, f);
		old_json_integer(f, "lookedAt", s->looked);
		buf_printf(&f->text, ",\"byGeneration\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]}", s->by_generation[0], s->by_generation[1],
			   s->by_generation[2]);
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
}

static void put_late(const struct pause_analysis *a, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"lateThreads\":[");
	for (size_t i = 0; i < a->late_count && i < GROUPS_MAX; i++) {
		const struct pause_late *l = &a->capture->late[a->by_late[i].index];
		buf_printf(&f->text, "%s{\"tid\":%" PRIu32, i ? ",\n" : "\n", l->tid);
		old_json_string(f, "thread", l->thread[0] ? l->thread : NULL);
		put_stack(a, l->stack, f);
		put_sum(&a->by_late[i], f);
		buf_puts(&f->text, "}");
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
}

static void put_kinds(const struct pause_analysis *a, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"kinds\":[");
	for (size_t i = 0; i < a->capture->kind_count; i++) {
		const struct pause_kind *k = &a->capture->kinds[i];
		AUTO_BUF struct buf title;
		buf_init(&title, 256);
		pause_kind_title(k, &title);
		buf_printf(&f->text, "%s{\"reason\":\"%s\"", i ? ",\n" : "\n", pause_reason_name(k->reason));
		old_json_shown(f, "title", buf_str(&title));
		old_json_known(f, "generation", k->generation);
		old_json_bool(f, "induced", k->induced);
		old_json_shown(f, "cause", k->cause < CAUSE_COUNT ? pause_cause_name(k->cause) : NULL);
		buf_puts(&f->text, "}");
	}
	buf_puts(&f->text, "]");
}

/* Where the group with this index stands in the order of the report; -1: it is not listed. */
static int64_t place(const struct pause_sum *sums, size_t count, uint32_t index)
{
	for (size_t i = 0; i < count && i < GROUPS_MAX; i++)
		if (sums[i].index == index)
			return (int64_t)i;
	return -1;
}

static void put_slowest(const struct pause_analysis *a, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"slowest\":[");
	for (size_t i = 0; i < a->slowest_count; i++) {
		const struct pause *p = &a->capture->pauses[a->slowest[i]];
		buf_printf(&f->text, "%s{\"startSeconds\":%.6f", i ? ",\n" : "\n", (double)p->start_ns / 1e9);
		put_us(f, "lengthMicroseconds", pause_length_ns(p));
		put_us(f, "suspendingMicroseconds", p->suspend_ns);
		put_us(f, "stoppedMicroseconds", p->stopped_ns);
		old_json_integer(f, "kind", p->kind);
		old_json_integer(f, "collections", p->collections);
		old_json_known(f, "inducer", place(a->by_inducer, a->inducer_count, p->inducer));
		old_json_known(f, "lateThread", place(a->by_late, a->late_count, p->late));
		buf_puts(&f->text, "}");
	}
	buf_puts(&f->text, "]");
}

enum column { COLUMN_START, COLUMN_SUSPENDING, COLUMN_STOPPED, COLUMN_KIND };

static uint64_t cell(const struct pause *p, enum column column)
{
	switch (column) {
	case COLUMN_START:
		return (uint64_t)p->start_ns / 1000;
	case COLUMN_SUSPENDING:
		return (uint64_t)p->suspend_ns / 1000;
	case COLUMN_STOPPED:
		return (uint64_t)p->stopped_ns / 1000;
	default:
		return p->kind;
	}
}

static void put_events(const struct pause_analysis *a, struct report_file *f)
{
	static const char *const names[] = {"startMicroseconds", "suspendingMicroseconds", "stoppedMicroseconds", "kind"};
	const struct pause_capture *c = a->capture;
	size_t omitted;
	int64_t from_ns = pause_listed_from_ns(c, PAUSE_EVENTS_MAX, &omitted);
	buf_printf(&f->text, ",\n\"events\":{\"omitted\":%zu", omitted);
	for (int column = COLUMN_START; column <= COLUMN_KIND; column++) {
		bool first = true;
		buf_printf(&f->text, ",\n\"%s\":[", names[column]);
		for (size_t i = 0; i < c->pause_count; i++) {
			if (pause_length_ns(&c->pauses[i]) < from_ns)
				continue;
			if (!first)
				buf_putc(&f->text, ',');
			report_file_number(f, cell(&c->pauses[i], column));
			report_file_flow(f);
			first = false;
		}
		buf_puts(&f->text, "]");
	}
	buf_puts(&f->text, "}");
}

/* Pauses for collections, and those that the causes and inducers were looked at for. */
static void put_sample(const struct pause_analysis *a, struct report_file *f)
{
	buf_printf(&f->text, ",\n\"details\":{\"collections\":%zu,\"lookedAt\":%zu,\"perSecond\":%d}", a->sample.collections, a->sample.looked,
		   CHANNEL_STOPS_DETAILS);
}

static void put_limits(const struct pause_analysis *a, struct report_file *f)
{
	const char *said;
	buf_puts(&f->text, ",\n\"limits\":[");
	for (size_t i = 0; (said = pause_limit(a, i)); i++) {
		buf_puts(&f->text, i ? "," : "");
		text_append_json(&f->text, said, strlen(said));
	}
	buf_puts(&f->text, "]");
}

static void put_begin(const struct pause_source *s, struct report_file *f)
{
	AUTO_BUF struct buf more;
	buf_init(&more, 8192);
	buf_puts(&more, ",\"method\":");
	if (s->diagnosis->method)
		text_append_json(&more, s->diagnosis->method, strlen(s->diagnosis->method));
	else
		buf_puts(&more, "null");
	old_json_begin(&s->head, pause_finding_name(s->diagnosis->finding), buf_str(&more), f);
}

void pause_json_write(const void *source, struct report_file *f)
{
	const struct pause_source *s = source;
	const struct pause_analysis *a = s->analysis;
	put_begin(s, f);
	put_totals(a, f);
	put_named_sums(a, "reasons", "reason", a->by_reason, a->reason_count, false, f);
	put_generations(a, f);
	put_named_sums(a, "causes", "cause", a->by_cause, a->cause_count, true, f);
	put_histogram(a, f);
	put_inducers(a, f);
	put_late(a, f);
	put_kinds(a, f);
	put_slowest(a, f);
	put_events(a, f);
	put_sample(a, f);
	put_limits(a, f);
	old_json_end(&s->head, f);
}
