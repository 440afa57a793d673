#include "agent/profilers/pauses/pause_report.h"
#include "agent/report/report_json.h"
#include "agent/symbols/method_name.h"
#include "common/proto/channel_stops.h"

#define GROUPS_MAX 50

static void put_us(struct json_writer *w, const char *key, int64_t ns)
{
	jsonw_number(w, key, (double)ns / 1000.0, 1);
}

static void put_spread(struct json_writer *w, const char *key, const struct pause_spread *s)
{
	jsonw_object(w, key);
	put_us(w, "p50Microseconds", s->p50_ns);
	put_us(w, "p95Microseconds", s->p95_ns);
	put_us(w, "p99Microseconds", s->p99_ns);
	put_us(w, "maxMicroseconds", s->max_ns);
	put_us(w, "totalMicroseconds", s->total_ns);
	jsonw_end(w);
}

static void put_totals(const struct pause_analysis *a, struct json_writer *w)
{
	const struct pause_capture *c = a->capture;
	jsonw_line(w);
	jsonw_object(w, "pauses");
	jsonw_unsigned(w, "count", c->pause_count);
	jsonw_number(w, "sharePercent", a->share_percent, 4);
	jsonw_number(w, "perMinute", a->per_minute, 2);
	put_spread(w, "length", &a->length);
	put_spread(w, "suspending", &a->suspending);
	put_spread(w, "stopped", &a->stopped);
	put_us(w, "resumingMicroseconds", c->resuming_ns);
	jsonw_unsigned(w, "dropped", c->dropped);
	jsonw_unsigned(w, "abandoned", c->abandoned);
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "cpu");
	jsonw_known(w, "throttledPeriods", c->throttled_periods);
	jsonw_known(w, "periods", c->periods);
	jsonw_known(w, "throttledMicroseconds", c->throttled_ns < 0 ? -1 : c->throttled_ns / 1000);
	jsonw_end(w);
}

static void put_times(struct json_writer *w, const struct pause_sum *s)
{
	put_us(w, "totalMicroseconds", s->total_ns);
	put_us(w, "longestMicroseconds", s->longest_ns);
}

/* The sums of a group, after its first members. */
static void put_sum(struct json_writer *w, const struct pause_sum *s)
{
	jsonw_unsigned(w, "count", s->count);
	put_times(w, s);
}

static void put_reasons(const struct pause_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "reasons");
	for (size_t i = 0; i < a->reason_count; i++) {
		const struct pause_sum *s = &a->by_reason[i];
		report_json_record(f);
		jsonw_string(w, "reason", pause_reason_name(s->index));
		jsonw_string(w, "title", pause_reason_title(s->index));
		put_sum(w, s);
		jsonw_number(w, "sharePercent", pause_analysis_percent(a, s->total_ns), 2);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_causes(const struct pause_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "causes");
	for (size_t i = 0; i < a->cause_count; i++) {
		const struct pause_sum *s = &a->by_cause[i];
		report_json_record(f);
		jsonw_string(w, "cause", pause_cause_name(s->index));
		jsonw_string(w, "title", pause_cause_title(s->index));
		put_sum(w, s);
		jsonw_number(w, "sharePercent", pause_analysis_percent(a, s->total_ns), 2);
		jsonw_unsigned(w, "lookedAt", s->looked);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_generation(const struct pause_analysis *a, int generation, bool background, struct report_file *f)
{
	const struct pause_collections *c = &a->capture->collections[generation][background];
	const struct pause_sum *s = &a->by_generation[generation][background];
	struct json_writer *w = &f->json;
	if (!c->count && !s->count)
		return;
	report_json_record(f);
	jsonw_integer(w, "generation", generation);
	jsonw_bool(w, "background", background);
	jsonw_unsigned(w, "collections", c->count);
	jsonw_unsigned(w, "induced", c->induced);
	jsonw_unsigned(w, "pauses", s->count);
	put_times(w, s);
	jsonw_end(w);
}

static void put_generations(const struct pause_analysis *a, struct report_file *f)
{
	jsonw_line(&f->json);
	jsonw_array(&f->json, "generations");
	for (int g = 0; g < 3; g++) {
		put_generation(a, g, false, f);
		put_generation(a, g, true, f);
	}
	jsonw_end(&f->json);
}

static void put_counts(struct json_writer *w, const char *key, const uint32_t *counts, size_t count)
{
	jsonw_array(w, key);
	for (size_t i = 0; i < count; i++)
		jsonw_unsigned(w, NULL, counts[i]);
	jsonw_end(w);
}

static void put_histogram(const struct pause_analysis *a, struct json_writer *w)
{
	jsonw_line(w);
	jsonw_object(w, "histogram");
	jsonw_array(w, "fromMicroseconds");
	for (size_t i = 0; i < PAUSE_HISTOGRAM_STEPS; i++)
		jsonw_integer(w, NULL, pause_histogram_from_us(i));
	jsonw_end(w);
	put_counts(w, "pauses", a->histogram, PAUSE_HISTOGRAM_STEPS);
	put_counts(w, "suspending", a->histogram_suspending, PAUSE_HISTOGRAM_STEPS);
	jsonw_end(w);
}

/* PAUSE_NONE: null. */
static void put_method(const struct cpu_capture *stacks, const char *key, uint32_t frame, struct json_writer *w)
{
	struct method_name name;
	if (frame != PAUSE_NONE)
		method_name_make(&stacks->frames[frame], &name);
	jsonw_string(w, key, frame == PAUSE_NONE ? NULL : name.text);
}

static void put_stack(const struct pause_analysis *a, uint32_t stack, struct json_writer *w)
{
	const struct cpu_capture *stacks = &a->capture->stacks;
	put_method(stacks, "method", pause_stack_method(stacks, stack), w);
	jsonw_array(w, "stack");
	for (uint32_t i = 0; stack != PAUSE_NONE && i < stacks->stacks[stack].depth; i++)
		put_method(stacks, NULL, stacks->stack_frames[stacks->stacks[stack].first + i], w);
	jsonw_end(w);
}

static void put_inducers(const struct pause_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "inducers");
	for (size_t i = 0; i < a->inducer_count && i < GROUPS_MAX; i++) {
		const struct pause_sum *s = &a->by_inducer[i];
		report_json_record(f);
		put_stack(a, a->capture->inducers[s->index], w);
		put_sum(w, s);
		jsonw_unsigned(w, "lookedAt", s->looked);
		put_counts(w, "byGeneration", s->by_generation, 3);
		report_json_end(f);
	}
	jsonw_end(w);
}

static void put_late(const struct pause_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "lateThreads");
	for (size_t i = 0; i < a->late_count && i < GROUPS_MAX; i++) {
		const struct pause_late *l = &a->capture->late[a->by_late[i].index];
		report_json_record(f);
		jsonw_unsigned(w, "tid", l->tid);
		report_json_string(f, "thread", l->thread[0] ? l->thread : NULL);
		put_stack(a, l->stack, w);
		put_sum(w, &a->by_late[i]);
		report_json_end(f);
	}
	jsonw_end(w);
}

static void put_kinds(const struct pause_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "kinds");
	for (size_t i = 0; i < a->capture->kind_count; i++) {
		const struct pause_kind *k = &a->capture->kinds[i];
		AUTO_BUF struct buf title;
		buf_init(&title, 256);
		pause_kind_title(k, &title);
		report_json_record(f);
		jsonw_string(w, "reason", pause_reason_name(k->reason));
		jsonw_string(w, "title", buf_str(&title));
		jsonw_known(w, "generation", k->generation);
		jsonw_bool(w, "induced", k->induced);
		jsonw_string(w, "cause", k->cause < CAUSE_COUNT ? pause_cause_name(k->cause) : NULL);
		jsonw_end(w);
	}
	jsonw_end(w);
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
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "slowest");
	for (size_t i = 0; i < a->slowest_count; i++) {
		const struct pause *p = &a->capture->pauses[a->slowest[i]];
		report_json_record(f);
		jsonw_number(w, "startSeconds", (double)p->start_ns / 1e9, 6);
		put_us(w, "lengthMicroseconds", pause_length_ns(p));
		put_us(w, "suspendingMicroseconds", p->suspend_ns);
		put_us(w, "stoppedMicroseconds", p->stopped_ns);
		jsonw_unsigned(w, "kind", p->kind);
		jsonw_unsigned(w, "collections", p->collections);
		jsonw_known(w, "inducer", place(a->by_inducer, a->inducer_count, p->inducer));
		jsonw_known(w, "lateThread", place(a->by_late, a->late_count, p->late));
		jsonw_end(w);
	}
	jsonw_end(w);
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
	struct json_writer *w = &f->json;
	size_t omitted;
	int64_t from_ns = pause_listed_from_ns(c, PAUSE_EVENTS_MAX, &omitted);
	jsonw_line(w);
	jsonw_object(w, "events");
	jsonw_unsigned(w, "omitted", omitted);
	for (int column = COLUMN_START; column <= COLUMN_KIND; column++) {
		jsonw_line(w);
		jsonw_array(w, names[column]);
		for (size_t i = 0; i < c->pause_count; i++) {
			if (pause_length_ns(&c->pauses[i]) < from_ns)
				continue;
			jsonw_unsigned(w, NULL, cell(&c->pauses[i], column));
			report_file_flow(f);
		}
		jsonw_end(w);
	}
	jsonw_end(w);
}

/* How much is known: pauses for collections, and those that the causes and inducers were looked at for. */
static void put_details(const struct pause_analysis *a, struct json_writer *w)
{
	const struct pause_capture *c = a->capture;
	jsonw_line(w);
	jsonw_object(w, "details");
	jsonw_unsigned(w, "collections", a->sample.collections);
	jsonw_unsigned(w, "lookedAt", a->sample.looked);
	jsonw_integer(w, "perSecond", CHANNEL_STOPS_DETAILS);
	jsonw_bool(w, "causesKnown", c->causes_known);
	jsonw_unsigned(w, "stacks", c->taken_stacks);
	jsonw_unsigned(w, "incompleteStacks", c->incomplete_stacks);
	jsonw_bool(w, "besideAnotherProfiler", c->facts.beside_profiler);
	jsonw_end(w);
}

static void put_limits(const struct pause_analysis *a, struct json_writer *w)
{
	const char *said;
	jsonw_line(w);
	jsonw_array(w, "limits");
	for (size_t i = 0; (said = pause_limit(a, i)); i++)
		jsonw_string(w, NULL, said);
	jsonw_end(w);
}

void pause_json_write(const void *source, struct report_file *f)
{
	const struct pause_source *s = source;
	const struct pause_analysis *a = s->analysis;
	struct json_writer *w = &f->json;
	report_head_json_begin(&s->head, findings_lead_id(&s->diagnosis->findings), f);
	jsonw_string(w, "method", s->diagnosis->method);
	jsonw_end(w);
	put_totals(a, w);
	put_reasons(a, f);
	put_generations(a, f);
	put_causes(a, f);
	put_histogram(a, w);
	put_inducers(a, f);
	put_late(a, f);
	put_kinds(a, f);
	put_slowest(a, f);
	put_events(a, f);
	put_details(a, w);
	put_limits(a, w);
	report_head_json_end(&s->head, f);
}
