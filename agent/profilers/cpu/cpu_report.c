#include "agent/profilers/cpu/cpu_report.h"

#include "agent/profilers/cpu/cpu_json.h"
#include "agent/profilers/cpu/cpu_profile.h"
#include "agent/profilers/cpu/cpu_rules.h"
#include "agent/profilers/cpu/cpu_summary.h"
#include "common/base/embed.h"

EMBED_FILE(".rodata.report_assets", cpu_view, "agent/profilers/cpu/cpu_view.js");

static const struct report_writer more[] = {
	{"profile.pb.gz", "application/vnd.google.protobuf+gzip", cpu_profile_pprof},
	{"stacks.folded", "text/plain; charset=utf-8", cpu_profile_folded},
	{"profile.speedscope.json", "application/json", cpu_profile_speedscope},
};

static const struct report_files files = {
	.summary = cpu_summary_write,
	.json = cpu_json_write,
	.page = {"CPU hot paths",
		 "The same profile is in profile.pb.gz (pprof), stacks.folded, profile.speedscope.json and report.json.",
		 cpu_view, cpu_view_end},
	.more = more,
	.more_count = sizeof more / sizeof more[0],
};

bool cpu_report_idle(int64_t process_cpu_ns, int64_t duration_ns, double cpus_allowed)
{
	return process_cpu_ns >= 0 && duration_ns > 0 && cpu_rules_uses_little((double)process_cpu_ns / (double)duration_ns, cpus_allowed);
}

int cpu_report_write(const struct cpu_capture *c, const struct session_spec *spec, const struct report_context *ctx, int dirfd,
		     struct report_result *out, struct err *e)
{
	struct cpu_analysis analysis;
	struct cpu_diagnosis diagnosis;
	cpu_analysis_run(c, &analysis);
	cpu_diagnosis_make(&analysis, &diagnosis);
	char scratch[64];
	struct report_source source = {
		.analysis = &analysis,
		.diagnosis = &diagnosis,
		.head = {.facts = &c->facts, .spec = spec, .context = ctx, .headline = diagnosis.headline, .text = diagnosis.text,
			 .findings = &diagnosis.findings},
	};
	cpu_profile_make(&analysis, report_head_subject(&source.head, scratch, sizeof scratch), diagnosis.headline, &source.profile);
	int rc = report_write(&files, &source, &source.head, dirfd, out, e);
	cpu_diagnosis_fini(&diagnosis);
	cpu_analysis_fini(&analysis);
	return rc;
}
