#include "agent/profilers/threads/threads_report.h"

#include "agent/profilers/threads/threads_json.h"
#include "agent/profilers/threads/threads_numbers.h"
#include "agent/report/summary.h"
#include "common/base/cleanup.h"
#include "common/base/embed.h"
#include "common/base/size_text.h"

#include <string.h>

#define NAME_CHARS 110
#define GROUP_LINES 8
#define STANDING_LEAST 10
#define NAME_LEAST 12 /* characters of a name that still say something */

EMBED_FILE(".rodata.report_assets", threads_view, "agent/profilers/threads/threads_view.js");

/* the text --------------------------------------------------------------------------------------------------------- */

void threads_report_group(const struct threads_analysis *a, const struct threads_group *g, struct buf *out)
{
	const struct thread_words *kind = &thread_kind_words[g->kind], *wait = &thread_wait_words[g->wait];
	size_text_counted(out, g->threads, kind->one, kind->many);
	buf_printf(out, " %s", size_text_plural(g->threads, wait->one, wait->many));
	if (g->place == THREADS_NONE)
		return;
	buf_puts(out, " in ");
	method_name_shorten(threads_method_name(a, g->place), NAME_CHARS, out);
}

/* What is worth a line: where the application's code stands. */
static void put_groups(const struct threads_analysis *a, struct buf *out)
{
	size_t lines = 0;
	for (size_t i = 0; i < a->group_count && lines < GROUP_LINES; i++) {
		const struct threads_group *g = &a->groups[i];
		if (threads_group_idles(g) || g->threads < 2)
			continue;
		buf_puts(out, "\n");
		threads_report_group(a, g, out);
		if (g->still == g->threads)
			buf_puts(out, ", none of which ran between the looks");
		else if (g->still)
			buf_printf(out, ", %u of which did not run between the looks", g->still);
		buf_puts(out, ".");
		lines++;
	}
}

static void put_kinds(const struct threads_analysis *a, struct buf *out)
{
	const char *before = ": ";
	for (size_t k = 0; k < THREAD_KIND_COUNT; k++) {
		if (!a->kinds[k])
			continue;
		buf_puts(out, before);
		size_text_counted(out, a->kinds[k], thread_kind_words[k].one, thread_kind_words[k].many);
		before = ", ";
	}
}

static void put_looks(const struct threads_analysis *a, struct buf *out)
{
	const struct threads_capture *c = a->capture;
	buf_printf(out, "\nTwo looks, %.1f s apart: ", (double)c->between_ns / 1e9);
	size_text_counted(out, c->count, "thread", "threads");
	put_kinds(a, out);
	buf_printf(out, "; %u %s not run in between.", a->still, size_text_plural(a->still, "has", "have"));
	if (a->unread)
		buf_printf(out, "\nThe stacks of %u %s could not be read: they ran at each look.", a->unread, size_text_plural(a->unread, "thread", "threads"));
}

/* Whether these want to enter a monitor, or wait to be told, is not known here. */
static uint32_t waiting_in_runtime(const struct threads_analysis *a)
{
	uint32_t most = 0;
	for (size_t i = 0; i < a->group_count; i++)
		if (a->groups[i].wait == THREAD_WAIT_RUNTIME && a->groups[i].untimed > most)
			most = a->groups[i].untimed;
	return most;
}

/* Threads of the application that did not run are no finding where what they wait for comes by itself; that it did not come is worth a word. */
static const struct threads_group *most_that_stand(const struct threads_analysis *a)
{
	const struct threads_group *most = NULL;
	for (size_t i = 0; i < a->group_count; i++) {
		const struct threads_group *g = &a->groups[i];
		if (g->kind == THREAD_KIND_APPLICATION && !threads_group_idles(g) && g->untimed >= STANDING_LEAST && (!most || g->untimed > most->untimed))
			most = g;
	}
	return most;
}

static void put_those_that_stand(const struct threads_analysis *a, const struct threads_group *g, struct buf *out)
{
	buf_printf(out, "Nothing found: %u of %zu threads %s", g->untimed, a->capture->count, thread_wait_words[g->wait].many);
	size_t used = out->len + strlen(" in ");
	if (used + NAME_LEAST > HEADLINE_MAX_CHARS)
		return;
	buf_puts(out, " in ");
	method_name_shorten(threads_method_name(a, g->place), HEADLINE_MAX_CHARS - used, out);
}

static void put_nothing_found(const struct threads_analysis *a, struct buf *out)
{
	uint32_t waiting = waiting_in_runtime(a);
	const struct threads_group *stand = most_that_stand(a);
	if (waiting >= 2)
		buf_printf(out, "Nothing found, but %u threads wait in the runtime: run Deadlocks", waiting);
	else if (stand)
		put_those_that_stand(a, stand, out);
	else
		buf_printf(out, "Nothing found: %zu %s looked at", a->capture->count,
			   size_text_plural((double)a->capture->count, "thread was", "threads were"));
}

void threads_report_text(const struct threads_analysis *a, const struct findings *f, struct buf *out)
{
	const struct finding *lead = findings_lead(f);
	if (lead)
		buf_puts(out, lead->message);
	else if (a->capture->unread)
		buf_puts(out, "The process's threads could not be read");
	else if (f->withheld)
		findings_put_withheld(f, out);
	else
		put_nothing_found(a, out);
	put_groups(a, out);
	put_looks(a, out);
}

/* the files -------------------------------------------------------------------------------------------------------- */

static void put_group_row(const void *source, size_t row, struct buf *out)
{
	const struct threads_analysis *a = ((const struct threads_source *)source)->analysis;
	const struct threads_group *g = &a->groups[row];
	summary_count(out, g->threads);
	summary_count(out, g->still);
	summary_text(out, thread_kind_words[g->kind].one);
	summary_text(out, thread_wait_words[g->wait].one);
	summary_name(out, threads_method_name(a, g->place), NAME_CHARS);
}

static void write_threads_summary(const void *source, struct report_file *f)
{
	const struct threads_source *s = source;
	struct summary summary = {.head = &s->head, .work = "two looks from outside", .where = "the tree of all stacks is in report.html"};
	if (s->analysis->group_count)
		summary.table = (struct summary_table){"#threads|#did not run|kind|does|where", s->analysis->group_count, NULL, put_group_row};
	summary_write(&summary, source, f);
}

static const struct report_files files = {
	.summary = write_threads_summary,
	.json = threads_json_write,
	.page = {"Threads", "The same for programs: report.json.", threads_view, threads_view_end},
};

int threads_report_write(const struct threads_capture *c, const struct session_facts *facts, const struct session_spec *spec,
			 const struct report_context *context, int dirfd, struct report_result *out, struct err *e)
{
	struct threads_analysis analysis;
	struct threads_numbers numbers;
	struct findings findings;
	AUTO_BUF struct buf text;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	threads_analysis_make(c, &analysis);
	threads_numbers_of(&analysis, &numbers);
	rules_run(threads_rules, threads_rule_count, &threads_numbers_fields, &numbers, &findings);
	findings_withhold(&findings, threads_engines, &facts->engines);
	threads_report_text(&analysis, &findings, &text);
	AUTO_FREE char *headline = report_headline(buf_str(&text));
	const struct threads_source s = {
		.head = {.facts = facts, .spec = spec, .context = context, .headline = headline, .text = buf_str(&text), .findings = &findings},
		.analysis = &analysis,
	};
	int rc = report_write(&files, &s, &s.head, dirfd, out, e);
	findings_fini(&findings);
	threads_analysis_fini(&analysis);
	return rc;
}
