/* What one garbage collection tells of the heap when COR_PRF_MONITOR_GC is set: the roots. The walk arms it,
 * forces a collection and takes what was told; a collection of somebody else that comes later tells the same anew (the roots kept are
 * those of the last one), as long as they fit the table; past it they go to the stream at once, and another collection makes them void. */
#ifndef DRDOTNET_HEAP_COLLECTION_H
#define DRDOTNET_HEAP_COLLECTION_H

#include "profiler/heap/heap_sink.h"

#include "profiler/clr/cor_heap_abi.h"

/* Own thread. With `at_end`: roots are those of the first induced full collection, at whose end it is called, on the thread that collects and
 * with the application still stopped (.NET 8). Else they are kept of each collection until heap_collection_disarm(). */
typedef void heap_collection_end_fn(void *ctx);
void heap_collection_arm(struct heap_sink *sink, heap_collection_end_fn *at_end, void *ctx);
void heap_collection_disarm(void);
/* Own thread, while the application stands: the roots of the last collection, with heap_stacks_owner(). false: no room. */
bool heap_collection_put_roots(struct heap_writer *w);
/* Own thread: whether a collection told anything, and whether what it told still stands. */
bool heap_collection_told(void);
bool heap_collection_void(void);
/* Any thread. */
uint32_t heap_collection_count(void);      /* that began */
uint32_t heap_collection_full_count(void); /* of the oldest generation, in the background or not */
void heap_collection_reset(void);

/* CLR callbacks, on the thread that collects. */
void heap_collection_started(uint32_t generation, bool induced);
void heap_collection_finished(void);
void heap_collection_roots(uint32_t count, const cor_id *objects, const uint32_t *kinds, const uint32_t *flags, const uintptr_t *ids);
void heap_collection_dependent(uint32_t count, const cor_id *keys, const cor_id *values, const uintptr_t *ids);

#endif
