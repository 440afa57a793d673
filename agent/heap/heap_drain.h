/* The agent's end of a heap walk's ring (common/proto/heap_ring.h): memory that it makes, prefaults and passes to the library, and a thread
 * that takes the blocks out while the application stands. The memory cannot be shrunk by the other side (sealed), and nothing read from
 * it is trusted. */
#ifndef DRDOTNET_HEAP_DRAIN_H
#define DRDOTNET_HEAP_DRAIN_H

#include "agent/heap/heap_store.h"
#include "common/base/err.h"

struct heap_drain;

struct heap_drain *heap_drain_new(struct err *e);
void heap_drain_free(struct heap_drain *d); /* ends the thread */
int heap_drain_fd(const struct heap_drain *d); /* borrowed; to be passed */

/* From here on until heap_drain_finish() the thread appends all that comes to *store, which is its own meanwhile. */
int heap_drain_start(struct heap_drain *d, struct heap_store *store, struct err *e);
/* The library has handed on its last block: takes what is left and ends the thread. -1: something was wrong (the first thing). */
int heap_drain_finish(struct heap_drain *d, struct err *e);

#endif
