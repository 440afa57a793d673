/* A timer on the CPU clock of each thread of the process but the caller's, which sends it a signal; the tid is the signal's
 * value. Own thread. */
#ifndef DRDOTNET_THREAD_TIMERS_H
#define DRDOTNET_THREAD_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#define THREAD_TIMERS_MAX 2048

/* Looks at the process's threads: timers for new ones, away with those of ended ones. Returns the number of new threads, -1
 * when the list of threads cannot be read. A thread for which the kernel gives no timer (RLIMIT_SIGPENDING) is tried again. */
int thread_timers_update(int signo, uint64_t period_ns);
uint32_t thread_timers_count(void);
void thread_timers_delete_all(void);
/* After delete_all, once the signal's disposition has changed: mark, and then (any time later) settle waits until no thread of the
 * process can still be on its way into or out of a handler. */
void thread_timers_mark(void);
void thread_timers_settle(void);

#endif
