/* The report of Waits: summary.md, report.html, report.json (docs/report-schema-waits.json), and the stacks in the forms of other tools. One thread. */
#ifndef DRDOTNET_WAIT_REPORT_H
#define DRDOTNET_WAIT_REPORT_H

#include "agent/waits/wait_analysis.h"
#include "agent/profilers/waits/wait_numbers.h"
#include "agent/report/report_head.h"
#include "agent/stacks/stack_profile.h"

/* What its writers get: finished and read-only. */
struct wait_source {
	struct stack_profile profile; /* first, for profile_files */
	struct report_head head;
	const struct wait_analysis *analysis;
	const struct wait_numbers *numbers;
};

/* Makes the diagnosis and writes the files; as report_write(). */
int wait_report_write(const struct wait_capture *c, const struct session_spec *spec, const struct report_context *context, int dirfd,
		      struct report_result *out, struct err *e);

#endif
