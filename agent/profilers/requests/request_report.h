/* The report of SlowRequests: summary.md, report.html, report.json (docs/report-schema-slow-requests.json). One thread. */
#ifndef DRDOTNET_REQUEST_REPORT_H
#define DRDOTNET_REQUEST_REPORT_H

#include "agent/profilers/requests/request_analysis.h"
#include "agent/profilers/requests/request_numbers.h"
#include "agent/report/report_head.h"

/* What its writers get: finished and read-only. */
struct request_source {
	struct report_head head;
	const struct request_analysis *analysis;
	const struct request_numbers *numbers;
};

/* Makes the diagnosis and writes the files; as report_write(). */
int request_report_write(const struct request_capture *c, const struct session_spec *spec, const struct report_context *context, int dirfd,
			 struct report_result *out, struct err *e);

#endif
