#include "agent/profilers/requests/request_report.h"

#include "agent/profilers/requests/request_json.h"
#include "agent/profilers/requests/request_text.h"
#include "agent/report/summary.h"
#include "common/base/cleanup.h"
#include "common/base/embed.h"

#include <math.h>

EMBED_FILE(".rodata.report_assets", request_view, "agent/profilers/requests/request_view.js");

static const struct request_analysis *analysis_of_requests(const void *source)
{
	return ((const struct request_source *)source)->analysis;
}

static double endpoint_percent(const void *source, size_t row)
{
	const struct request_analysis *a = analysis_of_requests(source);
	return a->endpoints[row].is_stream ? 0 : request_analysis_percent(a, &a->endpoints[row]);
}

static void put_length_cell(struct buf *out, uint64_t ns)
{
	summary_cell(out);
	request_text_length(out, (double)ns);
}

static void put_endpoint_row(const void *source, size_t row, struct buf *out)
{
	const struct endpoint_figures *f = &analysis_of_requests(source)->endpoints[row];
	summary_percent(out, endpoint_percent(source, row));
	summary_cell(out);
	buf_printf(out, "%.1f", f->per_second);
	put_length_cell(out, f->p50_ns);
	put_length_cell(out, f->p95_ns);
	put_length_cell(out, f->p99_ns);
	if (isnan(f->error_percent))
		summary_text(out, "not told");
	else
		summary_percent(out, f->error_percent);
	summary_count(out, f->open);
	summary_code(out, f->name);
}

static void write_request_summary(const void *source, struct report_file *f)
{
	const struct request_source *s = source;
	struct summary summary = {.head = &s->head, .work = "each request's start and end", .where = "latencies and the slowest requests are in report.html"};
	if (s->analysis->endpoint_count)
		summary.table = (struct summary_table){"#waiting|#per s|#p50|#p95|#p99|#failed|#open|endpoint",
						       s->analysis->endpoint_count, endpoint_percent, put_endpoint_row};
	summary_write(&summary, source, f);
}

static const struct report_files files = {
	.summary = write_request_summary,
	.json = request_json_write,
	.page = {"Slow requests", "The same for programs: report.json.", request_view, request_view_end},
};

int request_report_write(const struct request_capture *c, const struct session_spec *spec, const struct report_context *context, int dirfd,
			 struct report_result *out, struct err *e)
{
	struct request_analysis analysis;
	struct request_numbers numbers;
	struct findings findings;
	AUTO_BUF struct buf text;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	request_analysis_run(c, &analysis);
	request_numbers_of(&analysis, &numbers);
	rules_run(request_rules, request_rule_count, &request_numbers_fields, &numbers, &findings);
	request_text_put(&analysis, &numbers, &findings, &text);
	AUTO_FREE char *headline = report_headline(buf_str(&text));
	const struct request_source s = {
		.head = {.facts = &c->stacks.facts, .spec = spec, .context = context, .headline = headline, .text = buf_str(&text),
			 .findings = &findings},
		.analysis = &analysis,
		.numbers = &numbers,
	};
	int rc = report_write(&files, &s, &s.head, dirfd, out, e);
	findings_fini(&findings);
	request_analysis_fini(&analysis);
	return rc;
}
