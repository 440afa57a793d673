/* One look at a process: its locks with waiters, its threads, and which thread waits for which lock. From outside, without stopping it. One thread. */
#ifndef DRDOTNET_DEADLOCK_LOOK_H
#define DRDOTNET_DEADLOCK_LOOK_H

#include "agent/locks/dac_table.h"
#include "agent/locks/managed_locks.h"
#include "agent/locks/sync_table.h"
#include "agent/locks/thread_wait.h"

#include <stdbool.h>

struct deadlock_look {
	int64_t at_ns; /* CLOCK_MONOTONIC */
	int64_t took_ns;
	struct sync_table table; /* behind the monitors, from `monitors` on: locks of other kinds that threads wait for */
	size_t monitors;
	bool table_found;
	struct thread_wait *threads;
	size_t thread_count;
	uint32_t *waits_for; /* by thread: index into table.waited; UINT32_MAX */
	bool full;
	const char *unread; /* why there are no monitors, or not all of the waits; NULL: all was read; static */
};

/* -1: the threads could not be listed, and *e says why the agent could not; of a process that has ended there are none (0). */
int deadlock_look_take(const struct process_memory *m, int proc_fd, const struct dac_table *dac, struct managed_locks *managed, struct deadlock_look *out,
		       struct err *e);
void deadlock_look_fini(struct deadlock_look *l);

#endif
