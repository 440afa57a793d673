#include "agent/profilers/allocs/alloc_report.h"

#include "agent/stacks/report_folded.h"
#include "agent/stacks/report_pprof.h"
#include "agent/stacks/report_speedscope.h"
#include "common/base/embed.h"

static void profile_of(const struct alloc_source *s, char *scratch, size_t size, struct stack_profile *out)
{
	alloc_analysis_profile(s->analysis, report_head_subject(&s->head, scratch, size), s->head.headline, out);
}

static void put_pprof(const void *source, struct report_file *f)
{
	struct stack_profile p;
	char scratch[64];
	profile_of(source, scratch, sizeof scratch, &p);
	report_pprof_write(&p, f);
}

static void put_folded(const void *source, struct report_file *f)
{
	struct stack_profile p;
	char scratch[64];
	profile_of(source, scratch, sizeof scratch, &p);
	report_folded_write(&p, f);
}

static void put_speedscope(const void *source, struct report_file *f)
{
	struct stack_profile p;
	char scratch[64];
	profile_of(source, scratch, sizeof scratch, &p);
	report_speedscope_write(&p, NULL, f);
}

EMBED_FILE(".rodata.report_assets", alloc_view, "agent/profilers/allocs/alloc_view.js");

static const struct report_writer more[] = {
	{"profile.pb.gz", "application/vnd.google.protobuf+gzip", put_pprof},
	{"stacks.folded", "text/plain; charset=utf-8", put_folded},
	{"profile.speedscope.json", "application/json", put_speedscope},
};

static const struct report_files files = {
	.summary = alloc_summary_write,
	.json = alloc_json_write,
	.page = {"Allocations", "The same profile is in profile.pb.gz (pprof: alloc_space, alloc_objects), stacks.folded, profile.speedscope.json and "
		 "report.json.", alloc_view, alloc_view_end},
	.more = more,
	.more_count = sizeof more / sizeof more[0],
};

int alloc_report_write(const struct alloc_capture *c, const struct session_spec *spec, const struct report_context *ctx, int dirfd,
		       struct report_result *out, struct err *e)
{
	struct alloc_analysis analysis;
	struct alloc_diagnosis diagnosis;
	alloc_analysis_run(c, &analysis);
	alloc_diagnosis_make(&analysis, &diagnosis);
	const struct alloc_source source = {
		.analysis = &analysis,
		.diagnosis = &diagnosis,
		.head = {.facts = &c->stacks.facts, .spec = spec, .context = ctx, .headline = diagnosis.headline, .text = diagnosis.text,
			 .findings = &diagnosis.findings},
	};
	int rc = report_write(&files, &source, &source.head, dirfd, out, e);
	alloc_diagnosis_fini(&diagnosis);
	alloc_analysis_fini(&analysis);
	return rc;
}
