/* Where each thread of a process waits, as the kernel tells: nothing is stopped. One thread. */
#ifndef DRDOTNET_THREAD_WAIT_H
#define DRDOTNET_THREAD_WAIT_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define THREAD_WAITS_MAX 16384

struct thread_wait {
	pid_t tid;                /* as we see it */
	uint32_t inner_tid;       /* as the process does */
	char name[64];            /* the kernel's, of 15 bytes; or the runtime's (managed_threads.h): outside text */
	char state;               /* 'R', 'S', 'D', ... */
	int64_t system_call;      /* its number; -1: none, or it runs */
	uint64_t arguments[2];    /* its first ones */
	uint64_t sp, ip;          /* of user mode, in a system call; 0: it runs */
	bool timed;               /* it waits on a futex for a bounded time (futex(2): its fourth argument) */
	uint64_t switches;        /* context switches of either kind since it began: alike at two looks, it has not run in between */
};

/* "202 0x7f.. 0x80 ... 0x7ffd.. 0x7f..", "running" or "-1 0x7ffd.. 0x7f.." of /proc/PID/task/TID/syscall (proc(5)). -1: it is none of these. Pure. */
int thread_wait_parse_syscall(const char *text, struct thread_wait *out);

/* All threads of an open /proc/PID, in the order of their ids; those that have ended are left out. Gives how many; *out is the caller's to free.
 * *more: there are more than THREAD_WAITS_MAX. -1 with errno. */
ssize_t thread_wait_list(int proc_fd, struct thread_wait **out, bool *more);

/* What to say when the threads could not be listed, of the errno: what this agent has run out of, or may not do. 0, and nothing is said: the process has
 * ended, which others tell. */
int thread_wait_explain(int errnum, struct err *e);

struct thread_times { /* of a thread since it began; the kernel brings run_ns up to date at its ticks, and delay_ns as the thread gets a CPU */
	uint64_t run_ns;   /* it ran */
	uint64_t delay_ns; /* it could run, and waited for a CPU */
	uint64_t ran;      /* how often it got one: from two looks that give the same it is known that a thread that slept sleeps on */
};

/* "run delay times" of /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst). -1: it is none. Pure. */
int thread_wait_parse_schedstat(const char *text, struct thread_times *out);

/* For little. `task_fd`: /proc/PID/task. -1: the thread has ended, or the kernel does not tell. */
int thread_wait_times(int task_fd, pid_t tid, struct thread_times *out);

/* Its system call alone, and where it stands in it: out->sp is 0 while it runs. -1: it has ended. */
int thread_wait_call(int task_fd, pid_t tid, struct thread_wait *out);

#endif
