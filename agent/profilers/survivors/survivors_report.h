/* From the graph of a heap to the diagnosis and the files summary.md, report.html and report.json. One thread (and helpers of its own). */
#ifndef DRDOTNET_SURVIVORS_REPORT_H
#define DRDOTNET_SURVIVORS_REPORT_H

#include "agent/heap/heap_snapshot.h"
#include "agent/report/report_head.h"

/* `facts` and the rest as in report_write(), which this ends with. `began_ms`: CLOCK_MONOTONIC when the analysis began. */
int survivors_report_write(const struct heap_snapshot *snapshot, int64_t began_ms, const struct session_facts *facts,
			   const struct session_spec *spec, const struct report_context *ctx, int dirfd, struct report_result *out, struct err *e);

#endif
