/* Threads that wait for what names no holder: a SemaphoreSlim, a task, a wait handle; by where they stand, and how the thread pool's workers do. Only of
 * threads that did not run between the looks and wait without a time limit; the process's main thread waits for its end and does not count. Pure; borrows
 * from the capture. */
#ifndef DRDOTNET_DEADLOCK_BLOCKED_H
#define DRDOTNET_DEADLOCK_BLOCKED_H

#include "agent/profilers/deadlocks/deadlock_capture.h"

#define BLOCKED_GROUPS 64 /* places that are told apart */

enum blocked_kind {
	BLOCKED_NOT,
	BLOCKED_LOCK,      /* whose holder is known, or that is a ReaderWriterLockSlim */
	BLOCKED_SEMAPHORE,
	BLOCKED_TASK,
	BLOCKED_HANDLE,    /* an event or a Mutex */
};

struct blocked_group {
	enum blocked_kind kind;
	const struct frame *place;
	uint32_t threads, workers;
};

struct deadlock_blocked {
	struct blocked_group items[BLOCKED_GROUPS];
	size_t count;
	uint32_t workers, workers_blocked; /* of the thread pool; that were there at the first look */
};

/* What a thread waits for. */
enum blocked_kind deadlock_blocked_kind(const struct deadlock_capture *c, uint32_t thread);

void deadlock_blocked_find(const struct deadlock_capture *c, struct deadlock_blocked *out);

/* Whether what a thread waits for has to be looked for on its stack: it has slept on a futex since the first look. */
bool deadlock_blocked_may(const struct locked_thread *t);

#endif
