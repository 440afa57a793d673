/* From a capture of allocations to the diagnosis and the report files. Analysis is pure; writing goes to a folder descriptor. One
 * thread. */
#ifndef DRDOTNET_ALLOC_REPORT_H
#define DRDOTNET_ALLOC_REPORT_H

#include "agent/profilers/allocs/alloc_analysis.h"
#include "agent/profilers/allocs/alloc_diagnosis.h"
#include "agent/report/report_file.h"
#include "agent/report/report_head.h"

struct alloc_source { /* what every writer gets: finished and read-only */
	struct stack_profile profile; /* first, for profile_files */
	const struct alloc_analysis *analysis;
	const struct alloc_diagnosis *diagnosis;
	struct report_head head;
};

/* Writes summary.md, report.json, report.html, profile.pb.gz, stacks.folded and profile.speedscope.json: report_write(). */
int alloc_report_write(const struct alloc_capture *c, const struct session_spec *spec, const struct report_context *ctx, int dirfd,
		       struct report_result *out, struct err *e);

/* The files; `source` is a struct alloc_source. */
void alloc_summary_write(const void *source, struct report_file *f);
void alloc_json_write(const void *source, struct report_file *f);

#endif
