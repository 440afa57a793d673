#include "agent/profilers/exceptions/exception_report.h"

#include "agent/stacks/report_folded.h"
#include "agent/stacks/report_pprof.h"
#include "agent/stacks/report_speedscope.h"
#include "common/base/embed.h"

static void exception_profile_of(const struct exception_source *s, char *scratch, size_t size, struct stack_profile *out)
{
	exception_analysis_profile(s->analysis, report_head_subject(&s->head, scratch, size), s->head.headline, out);
}

static void put_exception_pprof(const void *source, struct report_file *f)
{
	struct stack_profile p;
	char scratch[64];
	exception_profile_of(source, scratch, sizeof scratch, &p);
	report_pprof_write(&p, f);
}

static void put_exception_folded(const void *source, struct report_file *f)
{
	struct stack_profile p;
	char scratch[64];
	exception_profile_of(source, scratch, sizeof scratch, &p);
	report_folded_write(&p, f);
}

static void put_exception_speedscope(const void *source, struct report_file *f)
{
	struct stack_profile p;
	char scratch[64];
	exception_profile_of(source, scratch, sizeof scratch, &p);
	report_speedscope_write(&p, NULL, f);
}

EMBED_FILE(".rodata.report_assets", exception_view, "agent/profilers/exceptions/exception_view.js");

static const struct report_writer more[] = {
	{"profile.pb.gz", "application/vnd.google.protobuf+gzip", put_exception_pprof},
	{"stacks.folded", "text/plain; charset=utf-8", put_exception_folded},
	{"profile.speedscope.json", "application/json", put_exception_speedscope},
};

static const struct report_files files = {
	.summary = exception_summary_write,
	.json = exception_json_write,
	.page = {"Exceptions", "The same profile is in profile.pb.gz (pprof: exceptions), stacks.folded, profile.speedscope.json and "
		 "report.json.", exception_view, exception_view_end},
	.more = more,
	.more_count = sizeof more / sizeof more[0],
};

int exception_report_write(const struct exception_capture *c, const struct session_spec *spec, const struct report_context *ctx, int dirfd,
		       struct report_result *out, struct err *e)
{
	struct exception_analysis analysis;
	struct exception_diagnosis diagnosis;
	exception_analysis_run(c, &analysis);
	exception_diagnosis_make(&analysis, &diagnosis);
	const struct exception_source source = {
		.analysis = &analysis,
		.diagnosis = &diagnosis,
		.head = {.facts = &c->stacks.facts, .spec = spec, .context = ctx, .headline = diagnosis.headline, .text = diagnosis.text,
			 .findings = &diagnosis.findings},
	};
	int rc = report_write(&files, &source, &source.head, dirfd, out, e);
	exception_diagnosis_fini(&diagnosis);
	exception_analysis_fini(&analysis);
	return rc;
}
