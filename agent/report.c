#include "agent/report.h"

#include "agent/report_file.h"
#include "agent/report_folded.h"
#include "agent/report_html.h"
#include "agent/report_json.h"
#include "agent/report_pprof.h"
#include "agent/report_speedscope.h"
#include "agent/report_summary.h"
#include "common/base/mem.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
	const char *name, *media_type;
	void (*write)(const struct report_source *s, struct report_file *f);
} files[] = {
	{"summary.md", "text/markdown; charset=utf-8", report_summary_write},
	{"report.html", "text/html; charset=utf-8", report_html_write},
	{"report.json", "application/json", report_json_write},
	{"profile.pb.gz", "application/vnd.google.protobuf+gzip", report_pprof_write},
	{"stacks.folded", "text/plain; charset=utf-8", report_folded_write},
	{"profile.speedscope.json", "application/json", report_speedscope_write},
};

void report_result_fini(struct report_result *r)
{
	free(r->headline);
	free(r->diagnosis);
	*r = (struct report_result){0};
}

const char *report_subject(const struct report_source *s, char *scratch, size_t size)
{
	const struct cpu_capture *c = s->analysis->capture;
	if (c->target.entrypoint && c->target.entrypoint[0])
		return c->target.entrypoint;
	snprintf(scratch, size, "process %lld", (long long)c->pid);
	return scratch;
}

/* A disk that has no room for one may have it for the next, which is smaller. */
static int write_all(const struct report_source *s, int dirfd, struct report_result *out, struct err *e)
{
	int result = 0;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		struct report_file f;
		struct err *first = result == 0 ? e : NULL;
		int rc = report_file_begin(&f, dirfd, files[i].name, first);
		if (rc == 0) {
			files[i].write(s, &f);
			rc = report_file_commit(&f, files[i].media_type, &out->reports[out->report_count], first);
		}
		report_file_fini(&f);
		if (rc < 0)
			result = -1;
		else
			out->report_count++;
	}
	return result;
}

int report_write_cpu(const struct cpu_capture *c, const struct session_spec *spec, const struct report_context *ctx, int dirfd,
		     struct report_result *out, struct err *e)
{
	struct cpu_analysis analysis;
	struct cpu_diagnosis diagnosis;
	*out = (struct report_result){0};
	cpu_analysis_run(c, &analysis);
	cpu_diagnosis_make(&analysis, &diagnosis);
	const struct report_source source = {&analysis, &diagnosis, spec, ctx};
	int rc = write_all(&source, dirfd, out, e);
	out->headline = mem_strdup(diagnosis.headline);
	out->diagnosis = mem_strdup(diagnosis.text);
	cpu_diagnosis_fini(&diagnosis);
	cpu_analysis_fini(&analysis);
	return rc;
}
