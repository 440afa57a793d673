/* The report of Threads: summary.md, report.html, report.json (docs/report-schema-threads.json). One thread. */
#ifndef DRDOTNET_THREADS_REPORT_H
#define DRDOTNET_THREADS_REPORT_H

#include "agent/profilers/threads/threads_analysis.h"
#include "agent/report/report_head.h"

/* What its writers get: finished and read-only. */
struct threads_source {
	struct report_head head;
	const struct threads_analysis *analysis;
};

/* Makes the diagnosis and writes the files; as report_write(). */
int threads_report_write(const struct threads_capture *c, const struct session_facts *facts, const struct session_spec *spec,
			 const struct report_context *context, int dirfd, struct report_result *out, struct err *e);

/* The text below what the findings say, the first line is the headline. Into an empty buffer. Pure. */
void threads_report_text(const struct threads_analysis *a, const struct findings *f, struct buf *out);

/* "312 pool workers are without work", "41 application threads wait for a lock in Shop.Cache.Refresh": appended. Pure. */
void threads_report_group(const struct threads_analysis *a, const struct threads_group *g, struct buf *out);

#endif
