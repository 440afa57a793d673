#include "agent/profilers/exceptions/exception_diagnosis.h"

#include "agent/catalogue/catalogue.h"
#include "agent/report/phrase.h"
#include "agent/report/report.h"
#include "agent/symbols/method_name.h"
#include "common/base/mem.h"
#include "common/base/size_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARS 110
#define LEAST_NAME_CHARS 16
#define FILE_CHARS 60
#define LAST_NS 1000000000 /* the last seen so long before the end of a process may have ended it */
#define NEXT_PERCENT 5.0
#define WORTH_A_LINE_PERCENT 10.0
#define EXACT_PERCENT 99.9 /* of the time was watched */

static void put_shortened(struct buf *out, const char *before, const char *name)
{
	size_t used = phrase_chars(buf_str(out)) + strlen(before), room = used < HEADLINE_MAX_CHARS ? HEADLINE_MAX_CHARS - used : 0;
	if (!name || !name[0] || room < LEAST_NAME_CHARS)
		return;
	buf_puts(out, before);
	method_name_shorten(name, room, out);
}

/* An application that does little else than throw is slower while it is watched than in the rest of the time. */
static void put_exception_rate(const struct exception_numbers *n, struct buf *out)
{
	buf_puts(out, n->sampled_percent < EXACT_PERCENT ? "at least " : "");
	phrase_rate(out, exception_numbers_only_again(n) ? n->again_per_second : n->thrown_per_second);
}

static void put_exception_headline(const struct exception_analysis *a, const struct exception_diagnosis *d, struct buf *line)
{
	const struct finding *lead = findings_lead(&d->findings);
	const struct exception_sum *s = d->main;
	if (lead) {
		bool possible = lead->state == FINDING_POSSIBLE;
		buf_puts(line, possible ? "Possible: " : "");
		buf_printf(line, "%c%s", possible ? tolower((unsigned char)lead->message[0]) : lead->message[0], lead->message + 1);
	} else if (exception_numbers_only_again(&d->numbers) && d->numbers.again_type.text[0]) {
		put_exception_rate(&d->numbers, line);
		buf_puts(line, " exceptions/s, thrown by awaits");
		put_shortened(line, ": ", d->numbers.again_type.text);
		put_shortened(line, " in ", d->numbers.again_method.text);
	} else if (!s) {
		const char *which = a->capture->counted ? "new exception" : "exception";
		buf_printf(line, "No %s was %s in %.0f s", which, a->capture->stacks.facts.process_ended ? "seen" : "thrown", a->seconds);
	} else {
		put_exception_rate(&d->numbers, line);
		buf_puts(line, " exceptions/s, ");
		phrase_percent(line, d->numbers.site_percent);
		put_shortened(line, " ", d->numbers.site_type.text);
		put_shortened(line, " in ", d->numbers.site_method.text);
	}
	if (line->len && line->data[0] >= 'a' && line->data[0] <= 'z')
		line->data[0] = (char)(line->data[0] - 'a' + 'A');
}

static void put_exception_name(struct buf *out, const char *name)
{
	method_name_shorten(name, NAME_CHARS, out);
}

static void put_catcher(const struct exception_analysis *a, const struct exception_sum *s, struct buf *out)
{
	switch (s->distance) {
	case CAUGHT_SAME:
		buf_puts(out, ", caught in the same method");
		return;
	case CAUGHT_UNKNOWN:
		return;
	case CAUGHT_TASK:
		buf_puts(out, ", caught in the async method ");
		break;
	default:
		buf_puts(out, ", caught in ");
	}
	put_exception_name(out, exception_analysis_method(a, s->catcher));
}

/* " (Orders.cs:118)", where the module's symbols told it. */
static void put_throw_line(const struct exception_analysis *a, const struct exception_sum *s, struct buf *out)
{
	const struct frame *f = s->frame == UINT32_MAX ? NULL : &a->capture->stacks.frames[s->frame];
	if (!f || !f->file)
		return;
	const char *slash = strrchr(f->file, '/');
	buf_puts(out, " (");
	method_name_printable(slash ? slash + 1 : f->file, FILE_CHARS, out);
	buf_printf(out, ":%u)", f->line);
}

/* The places with most, one a line. */
static void put_places(const struct exception_analysis *a, struct buf *out)
{
	unsigned listed = 0;
	for (size_t i = 0; i < a->site_count && listed < 3; i++) {
		const struct exception_sum *s = &a->sites[i];
		double percent = exception_analysis_percent(a, s->count);
		if (s->way != EXCEPTION_NEW || (listed && percent < NEXT_PERCENT))
			continue;
		buf_puts(out, listed++ ? "Next: " : "Most: ");
		put_exception_name(out, a->capture->kinds[s->kind].type);
		buf_putc(out, ' ');
		phrase_percent(out, percent);
		buf_puts(out, s->method == CPU_NO_METHOD ? ", not in the application's code" : " in ");
		if (s->method != CPU_NO_METHOD)
			put_exception_name(out, exception_analysis_method(a, s->method));
		put_throw_line(a, s, out);
		put_catcher(a, s, out);
		buf_puts(out, ".\n");
	}
}

static void put_again(const struct exception_analysis *a, struct buf *out)
{
	double awaits = a->ways[EXCEPTION_AWAIT], again = a->ways[EXCEPTION_RETHROW], all = a->ways[EXCEPTION_NEW];
	if (all <= 0 || 100 * (awaits + again) / all < WORTH_A_LINE_PERCENT)
		return;
	buf_puts(out, "Each is thrown again ");
	buf_printf(out, "%.1f times on its way: ", (awaits + again) / all);
	if (awaits > 0)
		buf_printf(out, "%.1f by awaits%s", awaits / all, again > 0 ? ", " : "");
	if (again > 0)
		buf_printf(out, "%.1f by throw", again / all);
	buf_puts(out, "; these are not counted as new.\n");
}

/* Where hardly one is new, the places of the others are what there is to look at. */
static void put_places_of_awaits(const struct exception_analysis *a, struct buf *out)
{
	unsigned listed = 0;
	for (size_t i = 0; i < a->site_count && listed < 3; i++) {
		const struct exception_sum *s = &a->sites[i];
		if (s->way == EXCEPTION_NEW)
			continue;
		buf_puts(out, listed++ ? "Next: " : "Most: ");
		put_exception_name(out, a->capture->kinds[s->kind].type);
		buf_printf(out, " %llu %s", (unsigned long long)s->counted, size_text_plural((double)s->counted, "time", "times"));
		buf_puts(out, s->method == CPU_NO_METHOD ? ", not in the application's code" : " in ");
		if (s->method != CPU_NO_METHOD)
			put_exception_name(out, exception_analysis_method(a, s->method));
		put_throw_line(a, s, out);
		put_catcher(a, s, out);
		buf_puts(out, ".\n");
	}
	if (listed)
		buf_puts(out, "They were made without a throw, as that of a time limit is, or a task keeps them that failed before: awaits throw them.\n");
}

static void put_cost(const struct exception_analysis *a, struct buf *out)
{
	if (!rules_known(a->cost_percent))
		return;
	buf_printf(out, "The way from the throw to the catch block takes %.0f us of CPU time, ", a->cost_us);
	phrase_percent(out, a->cost_percent);
	buf_puts(out, " of what the process uses; making the exception is not in it.\n");
}

static void put_unwinding(const struct exception_numbers *n, struct buf *out)
{
	if (!rules_known(n->unwinding_percent))
		return;
	phrase_percent(out, n->unwinding_percent);
	buf_puts(out, " of the CPU samples are in the runtime's handling of exceptions.\n");
}

static void put_exception_quality(const struct exception_analysis *a, struct buf *out)
{
	const struct exception_capture *c = a->capture;
	if (a->exact) {
		size_text_count(out, c->counted);
		buf_printf(out, " exception%s counted, none left out.\n", size_text_plural(c->counted, " was", "s were"));
	} else if (c->counted) {
		buf_puts(out, "Estimated from ");
		size_text_count(out, c->counted);
		buf_printf(out, " exceptions, in %.0f%% of the time, so that it costs little; ", site_time_sampled_percent(&c->time));
		size_text_count(out, c->dropped);
		buf_puts(out, " were lost.\n");
	}
}

/* What may have ended the process: .NET ends with SIGABRT for an exception that nobody catches. NULL: nothing like that was seen. */
static const struct exception_sum *last_uncaught(const struct exception_analysis *a)
{
	const struct session_facts *f = &a->capture->stacks.facts;
	const struct exception_sum *last = NULL;
	if (!a->capture->catchers || !f->exit.signal || strcmp(f->exit.signal, "SIGABRT") != 0)
		return NULL;
	for (size_t i = 0; i < a->site_count; i++) {
		const struct exception_sum *s = &a->sites[i];
		bool uncaught = s->distance == CAUGHT_UNKNOWN, last_round = s->last_ns + LAST_NS >= f->duration_ns;
		if (uncaught && last_round && (!last || s->last_ns > last->last_ns))
			last = s;
	}
	return last;
}

/* The library tells of rounds of 0.1 s, and ends with the process. */
static void say_process_end(const struct exception_analysis *a, struct buf *out)
{
	const struct exception_sum *last = last_uncaught(a);
	if (!a->capture->stacks.facts.process_ended)
		return;
	if (last) {
		buf_puts(out, "No catch block was seen for the last ");
		put_exception_name(out, a->capture->kinds[last->kind].type);
		buf_puts(out, last->method == CPU_NO_METHOD ? "" : ", thrown in ");
		if (last->method != CPU_NO_METHOD)
			put_exception_name(out, exception_analysis_method(a, last->method));
		put_throw_line(a, last, out);
		buf_puts(out, ": .NET ends so for an exception that nobody catches.\n");
	} else {
		buf_puts(out, "What was thrown in the last 0.1 s before the process ended may be missing, and so may an exception that ended it: its last log "
			      "names that.\n");
	}
}

void exception_diagnosis_make(const struct exception_analysis *a, struct exception_diagnosis *out)
{
	AUTO_BUF struct buf line, text;
	*out = (struct exception_diagnosis){0};
	buf_init(&line, 4096);
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 4096);
	exception_numbers_of(a, &out->numbers);
	catalogue_judge("Exceptions", &exception_numbers_fields, &out->numbers, &out->findings);
	const struct finding *lead = findings_lead(&out->findings);
	out->finding = findings_lead_id(&out->findings);
	out->main = lead && strcmp(lead->id, "ExceptionsAsControlFlow") == 0 ? exception_numbers_near(a) : exception_numbers_site(a);
	put_exception_headline(a, out, &line);
	buf_printf(&text, "%s\n", buf_str(&line));
	bool only_again = exception_numbers_only_again(&out->numbers);
	if (only_again)
		put_places_of_awaits(a, &text);
	if (out->main) {
		put_places(a, &text);
		put_again(a, &text);
	}
	if (out->main || only_again) {
		put_cost(a, &text);
		put_unwinding(&out->numbers, &text);
		if (lead && lead->fix[0])
			buf_printf(&text, "Fix: %s.\n", lead->fix);
	}
	put_exception_quality(a, &text);
	say_process_end(a, &text);
	while (text.len && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	out->headline = mem_strdup(buf_str(&line));
	out->text = mem_strdup(buf_str(&text));
}

void exception_diagnosis_fini(struct exception_diagnosis *d)
{
	free(d->headline);
	free(d->text);
	findings_fini(&d->findings);
	*d = (struct exception_diagnosis){0};
}
