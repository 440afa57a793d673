/* Stacks as roots where no collection tells them: each word on a thread's stack that lies within the heap may be a reference (conservative),
 * and belongs to the managed frame whose part of the stack it lies in. Own thread, while the application stands. */
#ifndef DRDOTNET_HEAP_STACKS_H
#define DRDOTNET_HEAP_STACKS_H

#include "common/proto/heap_stream.h"
#include "profiler/cor_heap_abi.h"

/* Before the application is stopped: where stacks lie. */
void heap_stacks_prepare(void);
/* `lowest`, `highest`: between which addresses there are objects. */
bool heap_stacks_put(void *info, struct heap_writer *w, cor_id lowest, cor_id highest);

/* Whose stack a function is on, where a collection told the roots by function only: 1 + the thread's index, 0: on none or several. */
void heap_stacks_owners(void *info);
uint32_t heap_stacks_owner(cor_id function);

#endif
