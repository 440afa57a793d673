#include "agent/profilers/pauses/pause_diagnosis.h"

#include "agent/catalogue/catalogue.h"
#include "agent/profilers/pauses/pause_advice.h"
#include "agent/report/phrase.h"
#include "agent/symbols/method_name.h"
#include "agent/report/report.h"
#include "common/base/size_text.h"
#include "common/base/buf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FEW_PERCENT 0.5       /* of the time */
#define FEW_LONGEST_NS 10000000
#define LEAST_NAME_CHARS 14   /* a shorter piece of a name tells nothing */
#define TEXT_NAME_CHARS 110
#define GROUPS_SAID 3

/* the finding ------------------------------------------------------------------------------------------------------------- */

static const struct pause *slowest(const struct pause_analysis *a)
{
	return a->slowest_count ? &a->capture->pauses[a->slowest[0]] : NULL;
}

/* What the headline is about: the rule that leads. */
static enum pause_finding finding_of(const struct pause_analysis *a, const struct findings *f)
{
	static const struct {
		const char *id;
		enum pause_finding finding;
	} leads[] = {
		{"InducedCollections", PAUSES_INDUCED},	     {"SlowSuspension", PAUSES_SUSPENSION}, {"GCAtHeapLimit", PAUSES_LIMIT},
		{"LargeObjectCollections", PAUSES_LARGE},    {"BlockingGen2", PAUSES_GENERATION2},  {"AllocationPressure", PAUSES_ALLOCATION},
		{"CpuThrottled", PAUSES_THROTTLED},	     {"NodeIsFull", PAUSES_STARVED},	    {"ServerGCInSmallContainer", PAUSES_HEAPS},
		{"NoMemoryLimit", PAUSES_GENERATION2},	     {"BackgroundCollections", PAUSES_BACKGROUND},
	};
	const struct finding *lead = findings_lead(f);
	if (!a->capture->pause_count)
		return PAUSES_NONE;
	for (size_t i = 0; lead && i < sizeof leads / sizeof *leads; i++)
		if (strcmp(leads[i].id, lead->id) == 0)
			return leads[i].finding;
	return lead || a->share_percent >= FEW_PERCENT || a->length.max_ns >= FEW_LONGEST_NS ? PAUSES_OTHER : PAUSES_FEW;
}

/* names --------------------------------------------------------------------------------------------------------------------- */

static char *stack_method_name(const struct pause_analysis *a, uint32_t stack)
{
	struct method_name name;
	struct buf b;
	uint32_t frame = pause_stack_method(&a->capture->stacks, stack);
	if (frame == PAUSE_NONE)
		return NULL;
	method_name_make(&a->capture->stacks.frames[frame], &name);
	buf_init(&b, METHOD_NAME_SIZE + 1);
	buf_puts(&b, name.text);
	return buf_steal(&b);
}

static char *main_method(const struct pause_analysis *a, enum pause_finding f)
{
	if (f == PAUSES_INDUCED && a->inducer_count)
		return stack_method_name(a, a->capture->inducers[a->by_inducer[0].index]);
	if (f == PAUSES_SUSPENSION && a->late_count)
		return stack_method_name(a, a->capture->late[a->by_late[0].index].stack);
	return NULL;
}

static void put_pause_name(struct buf *out, const char *name, size_t max_chars)
{
	method_name_shorten(name, max_chars, out);
}

static void put_late_thread(struct buf *out, const struct pause_late *l)
{
	struct buf shown;
	buf_init(&shown, 1024);
	method_name_printable(l->thread, 40, &shown);
	if (shown.len)
		buf_printf(out, "thread '%s'", buf_str(&shown));
	else
		buf_printf(out, "thread %" PRIu32, l->tid);
	buf_fini(&shown);
}

/* the headline ---------------------------------------------------------------------------------------------------------------- */

static size_t pause_line_room(const struct buf *line)
{
	size_t used = phrase_chars(buf_str(line));
	return used < HEADLINE_MAX_CHARS ? HEADLINE_MAX_CHARS - used : 0;
}

static void put_pause_phrase_if_room(struct buf *line, const char *phrase)
{
	if (phrase_chars(phrase) <= pause_line_room(line))
		buf_puts(line, phrase);
}

static void put_by(struct buf *line, const char *before, const char *method)
{
	if (!method || pause_line_room(line) < phrase_chars(before) + LEAST_NAME_CHARS)
		return;
	buf_puts(line, before);
	put_pause_name(line, method, pause_line_room(line));
}

/* What the rule says, as far as there is room. */
static void put_lead(const struct pause_diagnosis *d, struct buf *line)
{
	const struct finding *lead = findings_lead(&d->findings);
	const char *says = lead ? lead->message : d->finding == PAUSES_OTHER ? "for several reasons" : NULL;
	if (!says || phrase_chars(says) + 2 > pause_line_room(line))
		return;
	buf_puts(line, ": ");
	buf_puts(line, says);
}

static void put_what(const struct pause_diagnosis *d, struct buf *line)
{
	switch (d->finding) {
	case PAUSES_INDUCED:
		if (d->method)
			put_by(line, ": GCs induced by ", d->method);
		else
			buf_puts(line, ": induced GCs");
		break;
	case PAUSES_SUSPENSION:
		put_pause_phrase_if_room(line, ": threads that stop late");
		put_by(line, ": ", d->method);
		break;
	case PAUSES_FEW:
		put_pause_phrase_if_room(line, ": not noticeable");
		break;
	default:
		put_lead(d, line);
		break;
	}
}

static void put_pause_headline(const struct pause_analysis *a, const struct pause_diagnosis *d, struct buf *line)
{
	double seconds = (double)a->capture->facts.duration_ns / 1e9;
	if (d->finding == PAUSES_NONE) {
		buf_printf(line, "No pause in %.0f s: the runtime never stopped the application", seconds);
		return;
	}
	phrase_percent(line, a->share_percent);
	buf_puts(line, " of the time paused, longest ");
	phrase_duration(line, a->length.max_ns);
	put_what(d, line);
}

/* the text -------------------------------------------------------------------------------------------------------------------- */

static void put_pause_totals(const struct pause_analysis *a, struct buf *out)
{
	buf_puts(out, "\n");
	size_text_counted(out, a->capture->pause_count, "pause", "pauses");
	buf_printf(out, " in %.0f s: median ", (double)a->capture->facts.duration_ns / 1e9);
	phrase_duration(out, a->length.p50_ns);
	buf_puts(out, ", p99 ");
	phrase_duration(out, a->length.p99_ns);
	buf_puts(out, ", longest ");
	phrase_duration(out, a->length.max_ns);
	buf_puts(out, "; of which until all threads had stopped: p99 ");
	phrase_duration(out, a->suspending.p99_ns);
	buf_puts(out, ", longest ");
	phrase_duration(out, a->suspending.max_ns);
	buf_puts(out, ".");
}

static void put_pause_generations(const struct pause_analysis *a, struct buf *out)
{
	const char *comma = "\nCollections: ";
	for (int g = 0; g < 3; g++)
		for (int background = 0; background < 2; background++) {
			const struct pause_collections *c = &a->capture->collections[g][background];
			if (!c->count)
				continue;
			buf_puts(out, comma);
			size_text_count(out, c->count);
			buf_printf(out, " of gen %d%s", g, background ? " in the background" : "");
			if (c->induced)
				buf_printf(out, " (%" PRIu32 " induced)", c->induced);
			buf_puts(out, ", longest pause ");
			phrase_duration(out, a->by_generation[g][background].longest_ns);
			comma = "; ";
		}
	if (comma[0] == ';')
		buf_puts(out, ".");
}

static void put_longest(const struct pause_analysis *a, struct buf *out)
{
	const struct pause *p = slowest(a);
	if (!p)
		return;
	buf_puts(out, "\nThe longest: ");
	phrase_duration(out, pause_length_ns(p));
	buf_printf(out, " after %.1f s, ", (double)p->start_ns / 1e9);
	pause_kind_title(&a->capture->kinds[p->kind], out);
	buf_puts(out, ", ");
	phrase_duration(out, p->suspend_ns);
	buf_puts(out, " of it until all threads had stopped.");
}

/* How often the stacks of this method were met, over all groups; 0 when an earlier group has the method: it is said already. */
static uint32_t times_of(const struct pause_analysis *a, const struct pause_sum *sums, size_t count, size_t at,
			 uint32_t (*key)(const struct pause_analysis *a, uint32_t index))
{
	uint32_t wanted = key(a, sums[at].index), times = 0;
	for (size_t i = 0; i < count; i++) {
		if (key(a, sums[i].index) != wanted)
			continue;
		if (i < at)
			return 0;
		times += sums[i].count;
	}
	return times;
}

static uint32_t inducer_key(const struct pause_analysis *a, uint32_t index)
{
	return pause_stack_method(&a->capture->stacks, a->capture->inducers[index]);
}

/* The first group with the same thread's name. */
static uint32_t late_key(const struct pause_analysis *a, uint32_t index)
{
	uint32_t i = 0;
	while (strcmp(a->capture->late[i].thread, a->capture->late[index].thread) != 0)
		i++;
	return i;
}

static void put_pause_inducers(const struct pause_analysis *a, struct buf *out)
{
	int said = 0;
	if (!a->induced.count)
		return;
	buf_printf(out, "\n%" PRIu32 " of the pauses %s for (", a->induced.count,
		   size_text_plural(a->induced.count, "is for a collection that was asked", "are for collections that were asked"));
	phrase_percent(out, pause_analysis_percent(a, a->induced.total_ns));
	buf_puts(out, " of the paused time)");
	for (size_t i = 0; i < a->inducer_count && said < GROUPS_SAID; i++) {
		uint32_t times = times_of(a, a->by_inducer, a->inducer_count, i, inducer_key);
		char *name = times ? stack_method_name(a, a->capture->inducers[a->by_inducer[i].index]) : NULL;
		if (name) {
			buf_puts(out, said++ ? ", " : ": ");
			put_pause_name(out, name, TEXT_NAME_CHARS);
			buf_printf(out, " %s%" PRIu32 " %s", pause_analysis_sampled(a) ? "about " : "", times, size_text_plural(times, "time", "times"));
		}
		free(name);
	}
	buf_puts(out, said ? "." : pause_analysis_sampled(a) ? ", by whom is not known." : ", by whom is not known: native code, or a diagnostic tool.");
}

static void put_sampled_share(const struct pause_analysis *a, struct buf *out)
{
	if (!pause_analysis_sampled(a))
		return;
	buf_puts(out, "\nThere were too many collections to look at each: what made the runtime collect, and who asked, is estimated from ");
	size_text_count(out, a->sample.looked);
	buf_puts(out, " of ");
	size_text_count(out, a->sample.collections);
	buf_puts(out, ".");
}

static void put_late_one(const struct pause_analysis *a, const struct pause_late *l, uint32_t times, struct buf *out)
{
	char *name = stack_method_name(a, l->stack);
	put_late_thread(out, l);
	if (name) {
		buf_puts(out, " in ");
		put_pause_name(out, name, TEXT_NAME_CHARS);
	}
	buf_printf(out, " (%" PRIu32 " %s)", times, size_text_plural(times, "time", "times"));
	free(name);
}

static void put_late_threads(const struct pause_analysis *a, struct buf *out)
{
	int said = 0;
	if (!a->late.count)
		return;
	buf_printf(out, "\nIn %" PRIu32 " %s it took longer than 1 ms until all threads had stopped, at most ", a->late.count,
		   size_text_plural(a->late.count, "pause", "pauses"));
	phrase_duration(out, a->late.longest_ns);
	for (size_t i = 0; i < a->late_count && said < GROUPS_SAID; i++) {
		uint32_t times = times_of(a, a->by_late, a->late_count, i, late_key);
		if (!times)
			continue;
		buf_puts(out, said++ ? ", " : "; last came ");
		put_late_one(a, &a->capture->late[a->by_late[i].index], times, out);
	}
	buf_puts(out, ".");
}

static void put_pause_text(const struct pause_analysis *a, const struct pause_diagnosis *d, struct buf *out)
{
	buf_puts(out, d->headline);
	if (d->finding == PAUSES_NONE) {
		buf_puts(out, "\nNo garbage collection, and no other suspension: if requests are slow, the runtime's pauses are not why.");
		return;
	}
	put_pause_totals(a, out);
	put_pause_generations(a, out);
	if (d->finding != PAUSES_FEW) {
		put_longest(a, out);
		put_pause_inducers(a, out);
		put_sampled_share(a, out);
		put_late_threads(a, out);
		pause_advice_put_starved(a, out);
	}
	pause_advice_put(a, d->finding, out);
	if (d->finding == PAUSES_FEW)
		buf_puts(out, "\nIf requests are slow, the runtime's pauses are not why.");
	if (a->capture->dropped)
		buf_printf(out, "\n%" PRIu64 " %s not kept: there were too many.", a->capture->dropped,
			   size_text_plural((double)a->capture->dropped, "pause or stack was", "pauses or stacks were"));
}

void pause_diagnosis_make(const struct pause_analysis *a, struct pause_diagnosis *out)
{
	struct buf line, text;
	*out = (struct pause_diagnosis){0};
	pause_numbers_of(a, &out->numbers);
	catalogue_judge("RuntimePauses", &pause_numbers_fields, &out->numbers, &out->findings);
	out->finding = finding_of(a, &out->findings);
	out->method = main_method(a, out->finding);
	buf_init(&line, 1024);
	put_pause_headline(a, out, &line);
	out->headline = buf_steal(&line);
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	put_pause_text(a, out, &text);
	out->text = buf_steal(&text);
}

void pause_diagnosis_fini(struct pause_diagnosis *d)
{
	if (!d)
		return;
	free(d->method);
	free(d->headline);
	free(d->text);
	findings_fini(&d->findings);
	*d = (struct pause_diagnosis){0};
}
