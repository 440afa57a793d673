/* The agent's side of the frames about exceptions (common/proto/channel_exceptions.h), on a channel whose frames it takes while it lives. One
 * thread. What comes in is hostile: bounded; past SITE_FEED_MAX_BYTES a frame is dropped and what it counts is counted as
 * dropped; kinds past EXCEPTION_CHANNEL_MAX_KINDS stay unknown. */
#ifndef DRDOTNET_EXCEPTION_CHANNEL_H
#define DRDOTNET_EXCEPTION_CHANNEL_H

#include "agent/attach/site_feed.h"
#include "common/proto/channel_exceptions.h"

#define EXCEPTION_CHANNEL_MAX_KINDS 16384

struct known_kind;

struct exception_channel {
	struct site_feed feed;
	struct known_kind *kinds;
	size_t kind_count;
	struct channel_exceptions_state state;
};

/* Outside text, but valid UTF-8 without control characters. */
struct exception_words {
	uint32_t hresult;
	const char *type, *shape;
	const char *message; /* NULL: it may not be shown */
};

/* `ch` NULL: none, frames are given by exception_channel_frame(). */
void exception_channel_init(struct exception_channel *c, struct profiler_channel *ch);
void exception_channel_fini(struct exception_channel *c);

/* `wanted`: enum channel_exceptions_want. */
int exception_channel_start(struct exception_channel *c, uint32_t wanted, int64_t deadline_ms, struct err *e);
int exception_channel_stop(struct exception_channel *c, int64_t deadline_ms, struct err *e);
/* What the library said last, with what was dropped here. */
struct channel_exceptions_state exception_channel_state(const struct exception_channel *c);

/* false: unknown. */
bool exception_channel_kind(const struct exception_channel *c, uint64_t kind, struct exception_words *out);

/* A frame of one of the types EXCEPTIONS_*, or an ERROR that answers one: checked and kept. A channel_frame_fn. */
int exception_channel_frame(void *exceptions, const struct channel_frame *f, struct err *e);

#endif
