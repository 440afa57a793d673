/* The report of StuckTasks: summary.md, report.html, report.json (docs/report-schema-stuck-tasks.json). One thread. */
#ifndef DRDOTNET_STUCK_REPORT_H
#define DRDOTNET_STUCK_REPORT_H

#include "agent/profilers/stucktasks/stuck_numbers.h"
#include "agent/report/report_head.h"

/* What its writers get: finished and read-only. */
struct stuck_source {
	struct report_head head;
	const struct stuck_result *result;
};

/* Makes the diagnosis and writes the files; as report_write(). */
int stuck_report_write(const struct stuck_result *r, const struct session_facts *facts, const struct session_spec *spec,
		       const struct report_context *context, int dirfd, struct report_result *out, struct err *e);

/* The text below what the findings say, the first line is the headline. Into an empty buffer. Pure. */
void stuck_report_text(const struct stuck_result *r, const struct findings *f, struct buf *out);

#endif
