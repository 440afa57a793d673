/* What a Deadlocks session collected: two looks at the runtime's monitors and at the threads that wait for them, and the stacks of those that matter.
 * Plain data; one thread. */
#ifndef DRDOTNET_DEADLOCK_CAPTURE_H
#define DRDOTNET_DEADLOCK_CAPTURE_H

#include "agent/locks/managed_types.h"
#include "agent/locks/sync_table.h"
#include "agent/locks/thread_wait.h"
#include "agent/locks/wait_graph.h"
#include "agent/stacks/capture.h"

struct locked_thread {
	struct thread_wait wait;
	uint32_t lock;  /* that it waits for; WAIT_NONE */
	bool first;     /* it was there at the first look */
	bool still;     /* has not run between the two looks */
	bool framed;    /* its stack, too, says that it waits for a lock of that kind; of monitors not asked */
	bool cancelable; /* a CancellationToken may end its wait */
	char peer[64];  /* it holds a lock and waits for another machine: "10.0.3.7:5432"; "" */
	bool lasting;   /* `still`, and at both looks it waited for the same lock, which the same thread held */
	uint32_t stack; /* in stacks; UINT32_MAX: not known */
};

struct waited_lock { /* or a task that a thread blocks on, and another one runs */
	struct monitor monitor;
	uint32_t holder;  /* in threads; WAIT_NONE: nobody, or a thread that has ended */
	char type[MANAGED_TYPE_NAME]; /* of the lock object; "": not known; outside text */
	uint32_t seen;    /* threads that were found to wait for it; monitor.waiters is what the runtime says */
};

struct deadlock_capture {
	struct cpu_capture stacks; /* frames and stacks; its samples stand for threads: time_ns is the thread's index */
	struct locked_thread *threads; /* all of the process, at the second look */
	size_t thread_count;
	struct waited_lock *locks; /* with waiters at the second look */
	size_t lock_count;         /* tasks come last */
	size_t monitors_waited;    /* of them: the others are of other kinds */
	size_t monitors;           /* in the runtime's table, with and without waiters */
	size_t first_waited;       /* with waiters at the first look */
	int64_t between_ns;        /* the looks */
	int64_t first_look_ns, second_look_ns; /* what each took */
	int64_t proven_ns;         /* until a circle was certain, since the session began to look; 0: none was before its time was over */
	int64_t first_queue, second_queue; /* items in the thread pool's queue at the looks; -1: not known */
	uint32_t main_tid;         /* as the process sees it */
	bool table_found;          /* not: no thread has waited for a monitor since the process began */
	bool tasks;                /* tasks that threads block on were looked for */
	size_t task_waiters;       /* threads that have blocked on a task since the first look */
	bool other_locks;          /* System.Threading.Lock and ReaderWriterLockSlim could be read */
	bool full;                 /* more threads or locks than there is room for */
	const char *unattached;    /* why the library was not there to name methods: a reason, static; NULL: it was */
	bool named;                /* methods have names: by the library, or from outside */
	const char *unread;        /* why nothing could be read; NULL; static */
};

/* Forgets what a pair of looks has told, but for the stacks. */
void deadlock_capture_reset(struct deadlock_capture *c);
void deadlock_capture_fini(struct deadlock_capture *c);

/* The stack of a thread, leaf first: how many frames, their indexes; NULL: not known. */
const uint32_t *deadlock_capture_stack(const struct deadlock_capture *c, uint32_t thread, uint32_t *depth);

#endif
