/* Threads that block on a task that another thread runs: both have not run between the looks, and that other one waits, too. One thread. */
#ifndef DRDOTNET_DEADLOCK_TASKS_H
#define DRDOTNET_DEADLOCK_TASKS_H

#include "agent/locks/managed_locks.h"
#include "agent/profilers/deadlocks/deadlock_capture.h"
#include "agent/profilers/deadlocks/task_frames.h"
#include "agent/stacks/frame_namer.h"

struct deadlock_tasks_source {
	const struct process_memory *memory;
	int proc_fd;
	struct managed_locks *managed;
	sleeping_stack_code_fn *is_code;
	void *code_ctx;
	frame_resolve_fn *resolve; /* names for functions: by them a thread that runs a task is told from one that only knows it */
	void *resolve_ctx;
	bool whole; /* also who runs a task that the holder of a lock waits for, where that thread waits for something else: takes longer */
};

/* Adds to a capture that has its threads and locks, and says in it whether tasks could be looked for: not where types or functions have no names. `managed` may
 * know the names of types alone. */
void deadlock_tasks_find(const struct deadlock_tasks_source *s, struct deadlock_capture *c);

#endif
