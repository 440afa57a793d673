/* Disables the events of a process that is stopped or gets no CPU for two seconds: a child process that holds the same descriptors and sees that nothing
 * moves. For events that threads inherit: the kernel counts no overflows of these (agent/perf/perf_leave.h). Whoever freezes this process's control group
 * freezes the child, too. One thread owns it. */
#ifndef DRDOTNET_PERF_KEEPER_H
#define DRDOTNET_PERF_KEEPER_H

#include "common/base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_keeper {
	pid_t pid;       /* 0: none */
	uint32_t *beats; /* shared with the child */
};

/* The child holds the `events` and nothing else of this process, and ends with it. ERR_DENIED: no process can be made. */
int perf_keeper_start(struct perf_keeper *k, const int *events, size_t count, struct err *e);

/* A sign of life. Where the child has disabled the events, or was killed, another one is started, and then the events are enabled. */
void perf_keeper_beat(struct perf_keeper *k, const int *events, size_t count);

void perf_keeper_end(struct perf_keeper *k); /* takes zeroed structs */

#endif
