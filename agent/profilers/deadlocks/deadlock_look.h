/* One look at a process: its monitors with waiters, its threads, and which thread waits for which monitor. From outside, without stopping it. One thread. */
#ifndef DRDOTNET_DEADLOCK_LOOK_H
#define DRDOTNET_DEADLOCK_LOOK_H

#include "agent/locks/dac_table.h"
#include "agent/locks/process_memory.h"
#include "agent/locks/sync_table.h"
#include "agent/locks/thread_wait.h"

#include <stdbool.h>

struct deadlock_look {
	int64_t at_ns; /* CLOCK_MONOTONIC */
	struct sync_table table;
	bool table_found;
	struct thread_wait *threads;
	size_t thread_count;
	uint32_t *waits_for; /* by thread: index into table.waited; UINT32_MAX */
	bool full;
	const char *unread; /* why there are no monitors; NULL: they were read; static */
};

void deadlock_look_take(const struct process_memory *m, int proc_fd, const struct dac_table *dac, struct deadlock_look *out);
void deadlock_look_fini(struct deadlock_look *l);

/* The monitor whose SyncBlock a stack holds, the innermost first: what the thread waits for. UINT32_MAX: none. `words` from the stack's top. Pure. */
uint32_t deadlock_look_waited(const struct sync_table *t, const uint64_t *words, size_t count);

#endif
