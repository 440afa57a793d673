/* What the kernel counts of one thread, from /proc/PID/task/TID: nothing is stopped for it. The formats are the kernel's, the name inside `stat` is the
 * process's own. One thread. */
#ifndef DRDOTNET_THREAD_FIGURES_H
#define DRDOTNET_THREAD_FIGURES_H

#include <stdint.h>
#include <sys/types.h>

struct thread_figures {
	int64_t cpu_ns;      /* on a CPU since it began; -1: not known */
	uint64_t start_time; /* ticks after boot; 0: not known */
};

/* The first field of schedstat (the kernel's Documentation/scheduler/sched-stats.rst), nanoseconds; -1: not of that format. Pure. */
int64_t thread_figures_parse_run(const char *schedstat);

/* `task_fd`: /proc/PID/task. What cannot be read is not known. */
void thread_figures_read(int task_fd, pid_t tid, struct thread_figures *out);

#endif
