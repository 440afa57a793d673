/* From a CPU capture to the diagnosis and the report files. Analysis is pure; writing goes to a folder descriptor. One thread. */
#ifndef DRDOTNET_CPU_REPORT_H
#define DRDOTNET_CPU_REPORT_H

#include "agent/stacks/capture.h"
#include "agent/report/report.h"

/* Whether a session without a sample is one of an idle process: it used next to no CPU in this time, by the kernel's word. `cpus_allowed`: that it may
 * use, NAN: not known. Pure. */
bool cpu_report_idle(int64_t process_cpu_ns, int64_t duration_ns, double cpus_allowed);

/* Writes summary.md, report.html, report.json, profile.pb.gz, stacks.folded and profile.speedscope.json: report_write(). */
int cpu_report_write(const struct cpu_capture *c, const struct session_spec *spec, const struct report_context *ctx, int dirfd,
		     struct report_result *out, struct err *e);

#endif
