/* Stops of the application that a walk makes: they are measured from the request on (the threads stop one by one) and told to pause_watch.
 * Own thread. */
#ifndef DRDOTNET_HEAP_STOP_H
#define DRDOTNET_HEAP_STOP_H

#include "common/proto/heap_stream.h"
#include "profiler/clr/cor_heap_abi.h"

struct heap_stop {
	uint64_t begin_ns, watch;
};

/* Tries again while somebody else has stopped it (a collection), for some seconds or until the agent is gone. A failure: it runs. */
hresult heap_stop_begin(void *info, struct heap_stop *s, int agent_fd);
/* Collections in the background make free space of objects while one looks. `none`: the runtime does without them until the library has left
 * (COR_PRF_MONITOR_GC was set at the attach). */
void heap_stop_reset(bool none);
/* Before a stop: waits, for some moments or until the agent is gone, until no such collection is under way. false: one is, or nobody can tell. */
bool heap_stop_settle(int agent_fd);
bool heap_stop_settled(void); /* in the stop: whether that still holds */
uint64_t heap_stop_end(void *info, struct heap_stop *s); /* how long it was, in nanoseconds */

/* A full, blocking collection. */
hresult heap_stop_collect(void *info, uint64_t *ns);

/* The ranges of the generations as the last collection left them. While it stands. */
bool heap_stop_put_ranges(void *info, struct heap_writer *w);
/* The same to look at, until the next call of these. 0: they are not known, or too many. */
uint32_t heap_stop_ranges(void *info, const struct cor_generation_range **out);
/* Where the objects are that no collection touches (literals; they grow in number). Whose range it is, with that in mind. */
void heap_stop_find_frozen(void *info);
uint32_t heap_stop_frozen(const struct cor_frozen_range **out);
enum heap_generation heap_stop_generation(const struct cor_generation_range *r);
/* Each frozen object as a root: whoever else refers to it, it stays. After the objects, whose classes are known then. */
bool heap_stop_put_frozen_roots(struct heap_writer *w);
/* Where an object lies now, asked by the object: the runtime's own bounds are those of the last collection. Not known: a range of the object's
 * first eight bytes. Frozen ones, which the runtime itself counts to no generation, too. While it stands. */
enum heap_generation heap_stop_range_of(void *info, cor_id object, struct cor_generation_range *range, struct heap_range_record *record);
/* All of it / without large and pinned objects, in bytes; 0: not known. Any time. */
void heap_stop_heap_bytes(void *info, uint64_t *all, uint64_t *small);

#endif
