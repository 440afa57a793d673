/* The runtime's own list of managed threads, read from outside (.NET 9 and newer): their ids and whole names. The kernel keeps 15 bytes of a name. One
 * thread. */
#ifndef DRDOTNET_MANAGED_THREADS_H
#define DRDOTNET_MANAGED_THREADS_H

#include "agent/locks/managed_types.h"
#include "agent/locks/thread_wait.h"

struct managed_thread {
	uint32_t managed_id;
	uint32_t inner_tid; /* as the process sees it; 0: it has not begun, or has ended */
	uint64_t handle;    /* leads to its object */
};

struct managed_threads {
	struct managed_thread *items;
	size_t count;
	bool own_locks_by_managed_id; /* a Lock names its owner so, not by the kernel's id */
};

/* Empty where the runtime does not tell. *out is the caller's to finish. */
void managed_threads_read(const struct process_memory *m, const struct runtime_contract *c, struct managed_threads *out);
void managed_threads_fini(struct managed_threads *t);

/* Whether what the runtime says of itself leads to its types and to threads that the process has; where it does not, nothing of it is known any more. */
void managed_threads_check(const struct process_memory *m, int proc_fd, struct managed_types *types, struct runtime_contract *c);

/* The kernel's id of a managed one; 0: it is none. */
uint32_t managed_threads_inner_tid(const struct managed_threads *t, uint32_t managed_id);

/* Gives the threads of `list` whose name the kernel has cut the whole one. */
void managed_threads_name(const struct managed_threads *t, const struct process_memory *m, struct managed_types *types, const struct runtime_contract *c,
			  struct thread_wait *list, size_t count);

#endif
