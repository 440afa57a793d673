/* Stacks as roots where no collection tells them: each word on a thread's stack that lies within the heap may be a reference (conservative),
 * and belongs to the managed frame whose part of the stack it lies in. Own thread, while the application stands. */
#ifndef DRDOTNET_HEAP_STACKS_H
#define DRDOTNET_HEAP_STACKS_H

#include "common/proto/heap_stream.h"
#include "profiler/clr/cor_heap_abi.h"

/* Before the application is stopped: where stacks lie. */
void heap_stacks_prepare(void);
/* How long all stacks take to be read, by those that were looked at in `cpu_ns`, in processor time. While the application stands. */
uint64_t heap_stacks_look(void *info, uint64_t cpu_ns);
/* `lowest`, `highest`: between which addresses there are objects. Until `end_ns` (CLOCK_MONOTONIC): the stacks that were not read to their end
 * by then are counted (heap_gaps.h). false: no more room. */
bool heap_stacks_put(void *info, struct heap_writer *w, cor_id lowest, cor_id highest, uint64_t end_ns);

/* Whose stack a function is on, where a collection told the roots by function only: 1 + the thread's index, 0: on none or several, or
 * not all stacks could be looked at until `end_ns`. */
void heap_stacks_owners(void *info, uint64_t end_ns);
uint32_t heap_stacks_owner(cor_id function);

#endif
