/* How many items wait in the thread pool's queue, read from outside (.NET 9 and newer): the queue's address is on the stack of each worker that works.
 * Nothing is stopped: it changes while it is read, so the number is that of about now. What a worker has put into its own local queue is not counted: at
 * least so many wait. One thread.
 *
 * Source: the fields' places in .NET 9 and 10, measured, with the padding of its sources (PaddingHelpers.CACHE_LINE_SIZE); each object's type is asked,
 * and what does not look like that is no queue. */
#ifndef DRDOTNET_POOL_QUEUE_H
#define DRDOTNET_POOL_QUEUE_H

#include "agent/arch/arch.h"
#include "agent/locks/managed_types.h"
#include "agent/locks/thread_wait.h"

/* `types` NULL: what an object is, is not asked (of memory that is made up). */
#define POOL_QUEUE_UNKNOWN INT64_C(-1)

/* The queue that most of up to some workers of the list have on their stacks; 0: none, or they do not agree. */
uint64_t pool_queue_find(const struct process_memory *m, struct managed_types *types, const struct thread_wait *list, size_t count);

/* Items that wait in the queue at that address; POOL_QUEUE_UNKNOWN: it does not look like one, or changes too fast to be read. */
int64_t pool_queue_length(const struct process_memory *m, struct managed_types *types, uint64_t queue);
int64_t pool_queue_length_on(const struct arch *arch, const struct process_memory *m, struct managed_types *types, uint64_t queue);

/* Of a stack's words, from its top at `sp`, the first that is the address of a queue; 0: none is. */
uint64_t pool_queue_on_stack(struct managed_types *types, uint64_t sp, const uint64_t *words, size_t count);

#endif
