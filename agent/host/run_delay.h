/* How long the threads of a process were ready to run and waited for a CPU: because the node's CPUs were taken by others, or because the
 * container's limit kept them from running. One thread owns it. Source: the second field of /proc/PID/task/TID/schedstat (the kernel's
 * Documentation/scheduler/sched-stats.rst), which counts from the thread's birth. */
#ifndef DRDOTNET_RUN_DELAY_H
#define DRDOTNET_RUN_DELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_delay_thread {
	uint32_t tid;
	int64_t ns;
};

struct run_delay { /* zeroed: nothing known */
	bool known;
	struct run_delay_thread *threads; /* at the beginning, by tid */
	size_t count, cap;
};

/* Notes each thread's wait until now. proc_fd: /proc/PID, -1: not to be had. */
void run_delay_begin(struct run_delay *r, int proc_fd);

/* Nanoseconds that all threads have waited since begin, in sum; -1: not known (processes cannot be seen, the process has ended, a kernel without
 * schedstat). Threads that ended meanwhile are not in it. */
int64_t run_delay_since(const struct run_delay *r, int proc_fd);
void run_delay_fini(struct run_delay *r);

/* Nanoseconds since the kernel's start in which at least one task of the node was ready and waited for a CPU (PSI, the "some" line of
 * /proc/pressure/cpu); -1: not known. */
int64_t run_delay_node_pressure(const char *proc_root);

#endif
