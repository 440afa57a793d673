/* From a capture of exceptions to the diagnosis and the report files. Analysis is pure; writing goes to a folder descriptor. One
 * thread. */
#ifndef DRDOTNET_EXCEPTION_REPORT_H
#define DRDOTNET_EXCEPTION_REPORT_H

#include "agent/profilers/exceptions/exception_analysis.h"
#include "agent/profilers/exceptions/exception_diagnosis.h"
#include "agent/report/report_file.h"
#include "agent/report/report_head.h"

struct exception_source { /* what every writer gets: finished and read-only */
	struct stack_profile profile; /* first, for profile_files */
	const struct exception_analysis *analysis;
	const struct exception_diagnosis *diagnosis;
	struct report_head head;
};

/* Writes summary.md, report.json, report.html, profile.pb.gz, stacks.folded and profile.speedscope.json: report_write(). */
int exception_report_write(const struct exception_capture *c, const struct session_spec *spec, const struct report_context *ctx, int dirfd,
			   struct report_result *out, struct err *e);

/* The files; `source` is a struct exception_source. */
void exception_summary_write(const void *source, struct report_file *f);
void exception_json_write(const void *source, struct report_file *f);

#endif
