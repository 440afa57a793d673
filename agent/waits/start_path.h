/* From looks at the threads of a process that starts to what its start waited for: where the main thread was at each moment and, while that waited for a
 * task, where the pool's workers were. Pure; one thread. */
#ifndef DRDOTNET_START_PATH_H
#define DRDOTNET_START_PATH_H

#include "agent/locks/wait_peer.h"
#include "agent/waits/wait_analysis.h"

struct start_peer {       /* the other end of a connection that a thread waits for */
	int64_t stack_ns; /* of the wait: wait.stack_ns */
	uint32_t tid;     /* as we see it */
	char peer[WAIT_PEER_BYTES];
};

/* Fills out->looked, waits, idle_ns and awaits, with times since `started_ns`. `main_tid`: as we see it. */
void start_path_make(const struct wait_analysis *a, uint32_t main_tid, int64_t started_ns, const struct start_peer *peers, size_t peer_count,
		     struct capture_start *out);

#endif
