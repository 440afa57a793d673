#include "agent/profilers/cpu/cpu_report.h"

#include "agent/profilers/cpu/cpu_json.h"
#include "agent/profilers/cpu/cpu_profile.h"
#include "agent/profilers/cpu/cpu_rules.h"
#include "agent/profilers/cpu/cpu_summary.h"
#include "agent/report/report_view.h"
#include "common/base/embed.h"

EMBED_FILE(".rodata.report_assets", cpu_view, "agent/profilers/cpu/cpu_view.js");

static void put_cpu_page(const void *source, struct report_file *f)
{
	static const char footer[] = "The same profile is in profile.pb.gz (pprof), stacks.folded, profile.speedscope.json and report.json.";
	const struct report_source *s = source;
	const struct report_view view = {"CPU hot paths", REPORT_ASSET(cpu_view), footer};
	report_view_write(&view, &s->head, f);
}

static const struct report_writer writers[] = {
	{"summary.md", "text/markdown; charset=utf-8", cpu_summary_write},
	{"report.json", "application/json", cpu_json_write},
	{"report.html", "text/html; charset=utf-8", put_cpu_page},
	{"profile.pb.gz", "application/vnd.google.protobuf+gzip", cpu_profile_pprof},
	{"stacks.folded", "text/plain; charset=utf-8", cpu_profile_folded},
	{"profile.speedscope.json", "application/json", cpu_profile_speedscope},
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
	int rc = report_write(writers, sizeof writers / sizeof writers[0], &source, &source.head, dirfd, out, e);
	cpu_diagnosis_fini(&diagnosis);
	cpu_analysis_fini(&analysis);
	return rc;
}
