/* The stacks of threads that sleep in the kernel, read from outside: nothing is stopped, so what is read may be torn, and a thread that has run on
 * meanwhile gives the stack of another moment. One thread. */
#ifndef DRDOTNET_SLEEPING_STACK_H
#define DRDOTNET_SLEEPING_STACK_H

#include "agent/locks/process_memory.h"
#include "agent/locks/thread_wait.h"
#include "agent/stacks/cpu_collect.h"

#include <stddef.h>
#include <stdint.h>

#define SLEEPING_STACK_BYTES 65536 /* of a thread's stack, from its top */

/* Room for one stack, for sleeping_stack_take(); it holds the application's secrets and is overwritten when it is freed. */
uint8_t *sleeping_stack_buffer_new(void);
void sleeping_stack_buffer_free(uint8_t *buffer);

/* Hands the thread's stack over as a sample of the time `time_ns` (CLOCK_MONOTONIC, the session's start or later: by it the caller knows the thread again).
 * False: the thread runs, or its stack cannot be read. */
bool sleeping_stack_take(struct cpu_collect *collect, const struct process_memory *m, const struct thread_wait *t, int64_t time_ns, uint8_t *buffer);

/* The same of the first `most` bytes of the stack alone, at most SLEEPING_STACK_BYTES: for looks that come often. */
bool sleeping_stack_take_top(struct cpu_collect *collect, const struct process_memory *m, const struct thread_wait *t, int64_t time_ns, uint8_t *buffer,
			     size_t most);

/* Where the frame pointer of a thread may lead that sleeps in libc, whose waiting functions keep none; 0: nowhere. `stack`: what lies from `sp` on.
 * `is_code`: whether a function may return to an address: what else lies on a stack looks like frames, too. Pure but for that. */
typedef bool sleeping_stack_code_fn(void *ctx, uint64_t address);
uint64_t sleeping_stack_frame_pointer(uint64_t sp, const uint8_t *stack, size_t bytes, sleeping_stack_code_fn *is_code, void *ctx);

#endif
