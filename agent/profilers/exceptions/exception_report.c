#include "agent/profilers/exceptions/exception_report.h"

#include "common/base/embed.h"

EMBED_FILE(".rodata.report_assets", exception_view, "agent/profilers/exceptions/exception_view.js");

static const struct report_files files = {
	.summary = exception_summary_write,
	.json = exception_json_write,
	.page = {"Exceptions", "The same profile is in profile.pb.gz (pprof: exceptions), stacks.folded, profile.speedscope.json and "
		 "report.json.", exception_view, exception_view_end},
	.more = profile_files,
	.more_count = PROFILE_FILES,
};

int exception_report_write(const struct exception_capture *c, const struct session_spec *spec, const struct report_context *ctx, int dirfd,
		       struct report_result *out, struct err *e)
{
	struct exception_analysis analysis;
	struct exception_diagnosis diagnosis;
	exception_analysis_run(c, &analysis);
	exception_diagnosis_make(&analysis, &diagnosis);
	char scratch[64];
	struct exception_source source = {
		.analysis = &analysis,
		.diagnosis = &diagnosis,
		.head = {.facts = &c->stacks.facts, .spec = spec, .context = ctx, .headline = diagnosis.headline, .text = diagnosis.text,
			 .findings = &diagnosis.findings},
	};
	exception_analysis_profile(&analysis, report_head_subject(&source.head, scratch, sizeof scratch), diagnosis.headline, &source.profile);
	int rc = report_write(&files, &source, &source.head, dirfd, out, e);
	exception_diagnosis_fini(&diagnosis);
	exception_analysis_fini(&analysis);
	return rc;
}
