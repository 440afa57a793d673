/* When the runtime collects garbage, and on which thread: a collection runs in the runtime's own code, on the thread that needed
 * memory, where samples alone cannot tell it from other work of the runtime. Collections that end on another thread than they
 * began on (background collections) run on threads that their names tell, and are not kept. Bounded: while nobody fetches
 * them, those that find no room are dropped and counted. */
#ifndef DRDOTNET_GC_WATCH_H
#define DRDOTNET_GC_WATCH_H

#include "common/proto/channel.h"

#define GC_WATCH_CAP 8192

void gc_watch_reset(void);
void gc_watch_started(uint32_t tid, uint32_t generation, uint64_t now_ns); /* CLR callback: takes no lock */
void gc_watch_finished(uint32_t tid, uint64_t now_ns);                     /* CLR callback: takes no lock */

/* Takes up to `cap` finished collections, oldest first; returns how many. Own thread. */
size_t gc_watch_take(struct channel_collection *out, size_t cap);
uint64_t gc_watch_dropped(void);

#endif
