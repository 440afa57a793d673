/* The agent's side of the frames about allocations (common/proto/channel_allocs.h), on a channel whose frames it takes while it lives. One
 * thread. What comes in is hostile: bounded; past SITE_FEED_MAX_BYTES a frame is dropped and what it counts is counted as
 * dropped; types past ALLOCS_CHANNEL_MAX_TYPES stay without a name. */
#ifndef DRDOTNET_ALLOCS_CHANNEL_H
#define DRDOTNET_ALLOCS_CHANNEL_H

#include "agent/attach/site_feed.h"
#include "common/proto/channel_allocs.h"

#define ALLOCS_CHANNEL_MAX_TYPES 16384

struct alloc_type;

struct allocs_channel {
	struct site_feed feed;
	struct alloc_type *types;
	size_t type_count;
	struct channel_allocs_state state;
};

/* `ch` NULL: none, frames are given by allocs_channel_frame(). */
void allocs_channel_init(struct allocs_channel *a, struct profiler_channel *ch);
void allocs_channel_fini(struct allocs_channel *a);

/* Sampling in the library. `event`: 0, or the number of the runtime's event. */
int allocs_channel_start(struct allocs_channel *a, uint32_t event, int64_t deadline_ms, struct err *e);
int allocs_channel_stop(struct allocs_channel *a, int64_t deadline_ms, struct err *e);
/* What the library said last, with what was dropped here. */
struct channel_allocs_state allocs_channel_state(const struct allocs_channel *a);

/* In the metadata's words (outside text, valid UTF-8 without control characters); NULL: unknown. */
const char *allocs_channel_type(const struct allocs_channel *a, uint64_t type);

/* A frame of one of the types ALLOCS_*, or an ERROR that answers one: checked and kept. A channel_frame_fn. */
int allocs_channel_frame(void *allocs, const struct channel_frame *f, struct err *e);

#endif
