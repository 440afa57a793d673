/* Threads of the agent and the controller, and waiting by the monotonic clock. */
#ifndef DRDOTNET_THREAD_H
#define DRDOTNET_THREAD_H

#include "common/base/err.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define THREAD_STACK_USUAL 0

/* Starts a thread under a name of at most 15 bytes (which ps -L and gdb show) with a stack of so many bytes; THREAD_STACK_USUAL: the system's.
 * *out is to be joined; with out == NULL nobody joins it. It takes no signal but those of its own faults: the others are the main thread's.
 * `name` has static storage, *e may be NULL. */
int thread_start(pthread_t *out, const char *name, size_t stack_bytes, void *(*run)(void *arg), void *arg, struct err *e);

/* A condition variable whose waits end by CLOCK_MONOTONIC. */
void thread_cond_init(pthread_cond_t *cond);

/* Waits until somebody signals or the time (CLOCK_MONOTONIC, as of clock_mono_ms) has come, as pthread_cond_timedwait does: 0, or ETIMEDOUT.
 * INT64_MAX: for as long as it takes. */
int thread_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t mono_ms);

#endif
