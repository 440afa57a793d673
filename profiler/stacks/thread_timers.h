/* A timer on the CPU clock of each thread of the process but the caller's, which sends it a signal; the tid is the signal's
 * value. Where there are more threads than timers, those have one that use CPU. Own thread. */
#ifndef DRDOTNET_THREAD_TIMERS_H
#define DRDOTNET_THREAD_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#define THREAD_TIMERS_MAX 2048 /* each takes of what the user of the process may have of pending signals */

struct thread_timers_missed {
	uint32_t threads; /* that ran without a timer, at most at once */
	uint64_t cpu_ns;  /* that threads used without one, as far as is known */
	bool unknown;     /* there were threads of which nothing is known: too many */
};

void thread_timers_reset(void);
/* Looks at the process's threads: timers for new ones, away with those of ended ones. Returns the number of new threads, -1
 * when the list of threads cannot be read. A thread for which the kernel gives no timer (RLIMIT_SIGPENDING) is tried again. */
int thread_timers_update(int signo, uint64_t period_ns);
uint32_t thread_timers_count(void);
struct thread_timers_missed thread_timers_missed(void); /* since the reset */
void thread_timers_delete_all(void);
/* After delete_all, once the signal's disposition has changed: mark, and then (any time later) settle waits until no thread of the
 * process can still be on its way into or out of a handler, 2 s at most. false: there are threads that may be, such as one that a debugger
 * holds. */
void thread_timers_mark(void);
bool thread_timers_settle(void);

#endif
