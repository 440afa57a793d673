/* How many context switches a process does, by its threads' own counters, and how its waits are therefore followed. Any thread. */
#ifndef DRDOTNET_WAIT_PACE_H
#define DRDOTNET_WAIT_PACE_H

#include "agent/waits/wait_plan.h"

#include <sys/types.h>

/* So far, of the threads that are there. */
uint64_t wait_pace_switches(int proc_fd);

/* CPU time that the process has used; 0: it is gone. */
int64_t wait_pace_cpu_ns(pid_t pid);

/* Watches it for a fifth of a second. `pid` as we see it; `proc_fd`: its /proc/PID; `single_waits`: as in wait_follow.h. */
struct wait_plan wait_pace_plan(pid_t pid, int proc_fd, int64_t duration_ns, bool single_waits);

#endif
