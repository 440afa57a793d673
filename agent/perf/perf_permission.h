/* Why the kernel refused perf_event_open, in words that name what to change. Distributions and sandboxes refuse at different
 * places: the container's seccomp profile, kernel.perf_event_paranoid (which Debian, Ubuntu and Android extend to 3 and 4), a
 * missing capability. Pure but for perf_permission_read. */
#ifndef DRDOTNET_PERF_PERMISSION_H
#define DRDOTNET_PERF_PERMISSION_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct perf_permission {
	int paranoid;        /* kernel.perf_event_paranoid: -1 .. 4 */
	bool paranoid_known;
	bool seccomp_filter; /* a seccomp filter is in force for this thread */
	uint64_t caps;       /* effective capabilities */
};

void perf_permission_read(const char *proc_root, struct perf_permission *out);

/* May events of all processes on a CPU, and kernel frames, be had? (Says nothing about seccomp.) */
bool perf_permission_system_wide(const struct perf_permission *p);

/* Sets *e (REASON_PerfEventsForbidden, ERR_DENIED) for the errno with which perf_event_open refused. Returns -1. */
int perf_permission_explain(const struct perf_permission *p, int errnum, struct err *e);

#endif
