/* What a Threads session collected: two looks at all threads of a process by the kernel's figures, and their stacks at the second one. Plain data; one
 * thread. */
#ifndef DRDOTNET_THREADS_CAPTURE_H
#define DRDOTNET_THREADS_CAPTURE_H

#include "agent/locks/thread_wait.h"
#include "agent/profilers/threads/thread_figures.h"
#include "agent/stacks/capture.h"

#define THREADS_STACK_NONE UINT32_MAX

struct threads_look {
	int64_t at_ns;   /* CLOCK_MONOTONIC */
	int64_t boot_ns; /* CLOCK_BOOTTIME: thread_figures.start_time counts by it */
	int64_t took_ns;
	struct thread_wait *waits;
	struct thread_figures *figures; /* of the same threads */
	size_t count;
	bool full;       /* there are more than THREAD_WAITS_MAX */
	bool unread;     /* the list of threads could not be read */
};

enum stack_witness {
	STACK_NOT_READ,
	STACK_ASLEEP,  /* as it lay while the thread slept */
	STACK_SAMPLED, /* when a CPU was sampled that ran the thread */
};

struct seen_thread {
	struct thread_wait wait; /* at the second look */
	bool first;              /* it was there at the first one */
	bool still;              /* and has not run in between */
	int64_t cpu_ns;          /* between the looks; of one that began in between, since then; -1: not known */
	int64_t age_ns;          /* since it began; -1: not known */
	uint32_t stack;          /* in stacks; THREADS_STACK_NONE */
	enum stack_witness witness;
	bool monitor;            /* it waits for a monitor, by the runtime's table, which counts as many waiters as were found */
};

struct threads_capture {
	struct cpu_capture stacks;
	struct seen_thread *threads; /* at the second look, in the order of their ids as we see them */
	size_t count;
	size_t first_count;          /* at the first look */
	size_t ended;                /* of those, not there any more */
	int64_t between_ns, first_look_ns, second_look_ns; /* from one to the other; what each took */
	int64_t process_age_ns;      /* -1: not known */
	int64_t pids_current, pids_max; /* of the container's control group; -1: not known; max 0: no limit */
	int64_t first_queue, second_queue; /* items in the thread pool's queue at the looks; -1: not known */
	uint32_t main_tid;           /* as the process sees it */
	bool full, unread;
	bool sampled;                /* CPUs were sampled, too */
};

/* -1: the threads could not be listed, and *e says why the agent could not; of a process that has ended there are none (0). */
int threads_look_take(int proc_fd, struct threads_look *out, struct err *e);
void threads_look_fini(struct threads_look *l);

/* Two looks at the same process become a capture, all of it but the stacks and what concerns the process as a whole. Pure. */
void threads_capture_pair(const struct threads_look *first, const struct threads_look *second, int64_t ticks_per_second, struct threads_capture *out);
void threads_capture_fini(struct threads_capture *c);

/* The stack of a thread, leaf first: how many frames, their indexes; NULL: not known. */
const uint32_t *threads_capture_stack(const struct threads_capture *c, size_t thread, uint32_t *depth);

#endif
