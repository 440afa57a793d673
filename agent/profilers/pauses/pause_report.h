/* The report of RuntimePauses: what its files are made of. One thread. */
#ifndef DRDOTNET_PAUSE_REPORT_H
#define DRDOTNET_PAUSE_REPORT_H

#include "agent/profilers/pauses/pause_diagnosis.h"
#include "agent/report/report_head.h"

#define PAUSE_EVENTS_MAX 20000 /* pauses in a report.json one by one: the longest */

struct pause_source { /* of the writers */
	const struct pause_analysis *analysis;
	const struct pause_diagnosis *diagnosis;
	struct report_head head;
};

/* Writes summary.md, report.html and report.json into the folder `dirfd`; see report_write(). */
int pause_report_write(const struct pause_capture *c, const struct session_spec *spec, const struct report_context *ctx, int dirfd,
		       struct report_result *out, struct err *e);

struct report_file;
void pause_json_write(const void *source, struct report_file *f);
void pause_summary_write(const void *source, struct report_file *f);

/* The pauses that are listed one by one: those that are at least so long. 0: all. */
int64_t pause_listed_from_ns(const struct pause_capture *c, size_t max, size_t *omitted);
/* What could not be had in this session, in words; NULL after the last. */
const char *pause_limit(const struct pause_analysis *a, size_t i);

#endif
