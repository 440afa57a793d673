/* The report of Deadlocks: summary.md, report.html, report.json (docs/report-schema-deadlocks.json). One thread. */
#ifndef DRDOTNET_DEADLOCK_REPORT_H
#define DRDOTNET_DEADLOCK_REPORT_H

#include "agent/profilers/deadlocks/deadlock_analysis.h"
#include "agent/report/report_head.h"

/* What its writers get: finished and read-only. */
struct deadlock_source {
	struct report_head head;
	const struct deadlock_analysis *analysis;
};

/* Makes the diagnosis and writes the files; as report_write(). */
int deadlock_report_write(const struct deadlock_capture *c, const struct session_facts *facts, const struct session_spec *spec,
			  const struct report_context *context, int dirfd, struct report_result *out, struct err *e);

/* The text below what the findings say, the first line is the headline. Into an empty buffer. Pure. */
void deadlock_report_text(const struct deadlock_analysis *a, const struct findings *f, struct buf *out);

#endif
