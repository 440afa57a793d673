/* A process that stands at its start until something is prepared: ptrace stops its first thread, the one that starts the runtime; its other threads go on.
 * The kernel lets it go when the thread that traces it ends, however that comes about: nothing waits for a drdotnet that is no more. */
#ifndef DRDOTNET_HOLD_H
#define DRDOTNET_HOLD_H

#include "common/base/err.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/types.h>

struct hold {
	pid_t pid;
	int64_t longest_ms;
	int release_fd, refused; /* an eventfd; the errno of ptrace, 0: it is held */
	sem_t tried;
	pthread_t thread;
};

/* For `longest_ms` at most. -1: it runs on, and *h holds nothing. */
int hold_start(struct hold *h, pid_t pid, int64_t longest_ms, struct err *e);

/* It runs on, also after a signal or a stop of our own; its parent hears of its end again. Once. */
void hold_release(struct hold *h);

#endif
