#include "agent/profilers/waits/wait_report.h"

#include "agent/catalogue/catalogue.h"
#include "agent/profilers/waits/wait_json.h"
#include "agent/profilers/waits/wait_text.h"
#include "agent/report/phrase.h"
#include "agent/report/summary.h"
#include "common/base/cleanup.h"
#include "common/base/embed.h"

#define NAME_CHARS 80

EMBED_FILE(".rodata.report_assets", wait_view, "agent/profilers/waits/wait_view.js");

static const struct wait_analysis *analysis_of(const void *source)
{
	return ((const struct wait_source *)source)->analysis;
}

/* Of all that stands in the table: what waits for a CPU is no part of the waiting. */
static double row_percent(const void *source, size_t row)
{
	const struct wait_analysis *a = analysis_of(source);
	double all = a->waiting_ns + a->by_kind[WAIT_KIND_CPU];
	return all > 0 ? 100 * a->places[row].ns / all : 0;
}

static void put_wait_row(const void *source, size_t row, struct buf *out)
{
	const struct wait_analysis *a = analysis_of(source);
	const struct wait_place *p = &a->places[row];
	if (p->meaning.kind == WAIT_KIND_CPU)
		summary_text(out, "-");
	else
		summary_percent(out, wait_analysis_percent(a, p->ns));
	summary_cell(out);
	buf_printf(out, "%.1f", wait_analysis_threads(a, p->ns));
	summary_cell(out);
	buf_printf(out, "%.1f", a->seconds > 0 ? p->count / a->seconds : 0);
	summary_cell(out);
	phrase_duration(out, p->p50_ns);
	summary_cell(out);
	phrase_duration(out, p->p99_ns);
	summary_cell(out);
	phrase_duration(out, p->longest_ns);
	summary_text(out, p->meaning.what);
	summary_name(out, wait_analysis_place(a, p), NAME_CHARS);
}

static void write_wait_summary(const void *source, struct report_file *f)
{
	const struct wait_source *s = source;
	struct summary summary = {.head = &s->head, .work = "context switches from outside", .where = "the off-CPU flame graph is in report.html"};
	if (s->analysis->blocking_count)
		summary.table = (struct summary_table){"#share|#threads|#waits/s|#p50|#p99|#longest|waits for|in", s->analysis->blocking_count, row_percent,
						       put_wait_row};
	summary_write(&summary, source, f);
}

static const struct report_files files = {
	.summary = write_wait_summary,
	.json = wait_json_write,
	.page = {"Waits", "The same profile is in profile.pb.gz (pprof), stacks.folded, profile.speedscope.json and report.json.", wait_view, wait_view_end},
	.more = profile_files,
	.more_count = PROFILE_FILES,
};

int wait_report_write(const struct wait_capture *c, const struct session_spec *spec, const struct report_context *context, int dirfd,
		      struct report_result *out, struct err *e)
{
	struct wait_analysis analysis;
	struct wait_numbers numbers;
	struct findings findings;
	char scratch[64];
	AUTO_BUF struct buf text;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	wait_analysis_run(c, &analysis);
	wait_numbers_of(&analysis, &numbers);
	catalogue_judge("Waits", &wait_numbers_fields, &numbers, &findings);
	findings_withhold(&findings, wait_engines, &c->stacks.facts.engines);
	wait_text_put(&analysis, &numbers, &findings, &text);
	AUTO_FREE char *headline = report_headline(buf_str(&text));
	struct wait_source s = {
		.head = {.facts = &c->stacks.facts, .spec = spec, .context = context, .headline = headline, .text = buf_str(&text),
			 .findings = &findings},
		.analysis = &analysis,
		.numbers = &numbers,
	};
	wait_analysis_profile(&analysis, report_head_subject(&s.head, scratch, sizeof scratch), s.head.headline, &s.profile);
	int rc = report_write(&files, &s, &s.head, dirfd, out, e);
	findings_fini(&findings);
	wait_analysis_fini(&analysis);
	return rc;
}
