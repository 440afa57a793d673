/* Looks at the threads of a process from outside: who sleeps, where its system call stands, what its stack holds. Nothing is stopped. One thread. */
#ifndef DRDOTNET_WAIT_SLEEPERS_H
#define DRDOTNET_WAIT_SLEEPERS_H

#include "agent/locks/process_memory.h"
#include "agent/locks/thread_wait.h"
#include "agent/waits/lock_watch.h"
#include "agent/waits/wait_looks.h"
#include "agent/stacks/cpu_collect.h"

struct wait_sleepers {
	int proc_fd;                         /* all borrowed */
	const struct process_memory *memory;
	struct cpu_collect *collect;
	const struct lock_watch *locks;
	void (*taken)(void *ctx);            /* a stack was: `collect` may want to be flushed */
	void *ctx;
	bool starts;               /* the process maps code all the time */
	/* what is below is zeroed by the caller */
	uint8_t *buffer;
	pid_t *tids;
	size_t tid_count, tid_cap, listed; /* listed: looks ago */
	uint64_t random;
	int64_t next_ns;
	bool more;                 /* than are looked at */
};

void wait_sleepers_fini(struct wait_sleepers *w);

/* The stack of a thread that sleeps, or its first `most` bytes, becomes a sample; *out is the event that says so. False: it runs, or its stack cannot be
 * read. */
bool wait_sleepers_take(struct wait_sleepers *w, const struct thread_wait *t, size_t most, struct wait_event *out);

/* Looks at all threads if it is time for it. Those that have not run since the last look cost one small read. */
void wait_sleepers_look(struct wait_sleepers *w, struct wait_looks *looks, int64_t now_ns);

#endif
