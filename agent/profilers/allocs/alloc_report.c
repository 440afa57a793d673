#include "agent/profilers/allocs/alloc_report.h"

#include "common/base/embed.h"

EMBED_FILE(".rodata.report_assets", alloc_view, "agent/profilers/allocs/alloc_view.js");

static const struct report_files files = {
	.summary = alloc_summary_write,
	.json = alloc_json_write,
	.page = {"Allocations", "The same profile is in profile.pb.gz (pprof: alloc_space, alloc_objects), stacks.folded, profile.speedscope.json and "
		 "report.json.", alloc_view, alloc_view_end},
	.more = profile_files,
	.more_count = PROFILE_FILES,
};

int alloc_report_write(const struct alloc_capture *c, const struct session_spec *spec, const struct report_context *ctx, int dirfd,
		       struct report_result *out, struct err *e)
{
	struct alloc_analysis analysis;
	struct alloc_diagnosis diagnosis;
	alloc_analysis_run(c, &analysis);
	alloc_diagnosis_make(&analysis, &diagnosis);
	char scratch[64];
	struct alloc_source source = {
		.analysis = &analysis,
		.diagnosis = &diagnosis,
		.head = {.facts = &c->stacks.facts, .spec = spec, .context = ctx, .headline = diagnosis.headline, .text = diagnosis.text,
			 .findings = &diagnosis.findings},
	};
	alloc_analysis_profile(&analysis, report_head_subject(&source.head, scratch, sizeof scratch), diagnosis.headline, &source.profile);
	int rc = report_write(&files, &source, &source.head, dirfd, out, e);
	alloc_diagnosis_fini(&diagnosis);
	alloc_analysis_fini(&analysis);
	return rc;
}
