/* What the library tells of places and of how often something happened there (common/proto/channel_allocs.h: sites and rounds of counts), for those who
 * watch it: allocations and exceptions. Frames are checked and kept until they are delivered; a start or stop waits for its answer. One thread. What
 * comes in is hostile: past SITE_FEED_MAX_BYTES a frame is dropped, and what it counts is counted as dropped. */
#ifndef DRDOTNET_SITE_FEED_H
#define DRDOTNET_SITE_FEED_H

#include "agent/attach/profiler_channel.h"
#include "common/base/buf.h"
#include "common/proto/channel_allocs.h"

#define SITE_FEED_MAX_BYTES (16u << 20)

struct site_feed {
	struct profiler_channel *channel; /* NULL: none, frames are given by hand */
	struct buf payloads;              /* of frames that nobody has taken yet */
	struct channel_alloc_count dropped; /* here */
	unsigned answers; /* that have come for a start or stop */
	struct err error; /* of the last one */
};

/* Who is told what has arrived, in order. Both are valid in the call only. */
struct site_sink {
	void (*on_site)(void *ctx, const struct channel_alloc_site *s);
	void (*on_count)(void *ctx, const struct channel_alloc_round *r, const struct channel_alloc_count *c);
	void *ctx;
};

void site_feed_init(struct site_feed *f, struct profiler_channel *ch);
void site_feed_fini(struct site_feed *f);

/* Keeps a frame of sites, or else of counts. -1: it is malformed; `what`: "allocations", for the message. */
int site_feed_keep(struct site_feed *f, const struct channel_frame *frame, bool sites, const char *what, struct err *e);
/* Hands over what has come. Does not read the channel. */
void site_feed_deliver(struct site_feed *f, const struct site_sink *sink);

/* Asks the library, and waits for the answer; `what`: "start sampling allocations". -1: as profiler_channel_await(), or the library refused. */
int site_feed_request(struct site_feed *f, uint16_t type, const void *payload, size_t len, const char *what, int64_t deadline_ms, struct err *e);
/* The answer: yes, or a CHANNEL_ERROR. */
void site_feed_answered(struct site_feed *f);
void site_feed_refused(struct site_feed *f, const struct channel_frame *frame);

#endif
