/* Threads of the library: named, with every signal blocked, so that the application's handlers never run on them, but those of a thread's own
 * faults: the kernel ends a process whose fault is blocked, and the runtime would write no crash dump. Its handlers need nothing of a thread that
 * it does not know but room on its stack. */
#ifndef DRDOTNET_OWN_THREAD_H
#define DRDOTNET_OWN_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* Any context that may make threads. The stack's size is given: musl's default would be 128 KiB, glibc's 8 MiB. 0, or an errno. */
int own_thread_start(pthread_t *out, size_t stack_bytes, void *(*run)(void *), void *argument);
/* First thing on the new thread: what it inherits is a name of the runtime's. */
void own_thread_name(void);

#endif
