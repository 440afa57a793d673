/* Samples of the process's CPU time while a SlowRequests session runs, from outside, and its garbage collections as the library tells of them. The session's
 * thread. */
#ifndef DRDOTNET_REQUEST_CPU_H
#define DRDOTNET_REQUEST_CPU_H

#include "agent/perf/perf_pump.h"
#include "agent/profilers/requests/request_capture.h"
#include "agent/session/attached_session.h"
#include "agent/stacks/cpu_collect.h"

struct request_cpu { /* zeroed */
	struct perf_sampler *perf; /* NULL: they are not allowed */
	struct perf_pump *pump;
	struct cpu_collect *collect;
	struct err why;            /* they are not */
};

/* Before the attach. Sets the capture's has_cpu. */
void request_cpu_open(struct request_cpu *c, struct attached_session *s, struct request_capture *capture);
void request_cpu_take(struct request_cpu *c, struct attached_session *s);
void request_cpu_tick(struct request_cpu *c, struct attached_session *s, struct request_capture *capture, bool last);
void request_cpu_stop(struct request_cpu *c);
/* Whatever has been opened. */
void request_cpu_close(struct request_cpu *c, struct attached_session *s, struct cpu_capture *capture);

#endif
