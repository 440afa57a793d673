/* What a SlowRequests session has when it is over. Plain data; one thread. */
#ifndef DRDOTNET_REQUEST_CAPTURE_H
#define DRDOTNET_REQUEST_CAPTURE_H

#include "agent/profilers/requests/request_log.h"
#include "agent/stacks/capture.h"
#include "agent/waits/wait_capture.h"

struct request_capture {
	struct request_log *log;
	struct channel_requests_state state;
	struct cpu_capture stacks;   /* its facts, and what the kernel says of the container's CPU time */
	struct cpu_capture cpu;      /* samples of CPU time; collections */
	bool has_cpu;                /* else cpu has none: they were not allowed */
	int64_t cpu_started_ns;      /* CLOCK_MONOTONIC: its times are since then */
	struct cpu_capture awaits;    /* names of what log->awaits tells */
	const struct wait_capture *waits; /* borrowed; NULL: waits could not be followed */
	int64_t started_ns, ended_ns; /* CLOCK_MONOTONIC, while requests were watched */
	int64_t process_cpu_ns;       /* -1: not known */
};

void request_capture_fini(struct request_capture *c);

#endif
