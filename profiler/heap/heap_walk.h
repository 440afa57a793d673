/* Walks of the heap on the agent's request: how long one would take (a look of some milliseconds), the walk itself, names for what it met.
 * Own thread. There are two ways to the graph: the roots by a forced collection and then the objects in a stop of their own (on .NET 8 both in that
 * collection), or one stop without a collection, with statics and stacks as the roots. Where neither fits the time, objects are counted by type
 * alone (profiler/heap/heap_census.h). Nothing is kept between walks. */
#ifndef DRDOTNET_PROFILER_HEAP_WALK_H
#define DRDOTNET_PROFILER_HEAP_WALK_H

#include "profiler/base/channel_io.h"
#include "profiler/clr/cor_heap_abi.h"

/* Whether it takes COR_PRF_MONITOR_GC to walk the heap at all: on .NET 8, whose heap is walked in a collection. */
bool heap_walk_wants_gc(void *info);
/* Before a session's first request. `may_collect`: COR_PRF_MONITOR_GC was set while it attached: until the library has left the runtime does
 * without collections in the background. `is_main`: it could have been, another profiler is not in the way. */
void heap_walk_reset(void *info, bool may_collect, bool is_main);
void heap_walk_close(void);

/* Answers a request of common/proto/heap_frames.h. false: a malformed one. */
bool heap_walk_answer(void *info, const struct channel_frame *request, struct channel_io *io);
bool heap_walk_answers(uint16_t type);

#endif
