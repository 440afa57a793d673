/* The agent's side of the frames about requests (common/proto/channel_requests.h), on a channel whose frames it takes while it lives. What comes in is
 * hostile: bounded, and put into the log at once. One thread. */
#ifndef DRDOTNET_REQUEST_CHANNEL_H
#define DRDOTNET_REQUEST_CHANNEL_H

#include "agent/attach/profiler_channel.h"
#include "agent/profilers/requests/request_log.h"

struct request_channel {
	struct profiler_channel *channel;
	struct request_log *log; /* borrowed */
	struct channel_requests_state state;
	unsigned answers; /* REQUESTS_STATE or ERROR that have come for a start or stop */
	struct err error; /* of the last one */
};

/* `ch` NULL: none, frames are given by request_channel_frame(). */
void request_channel_init(struct request_channel *c, struct profiler_channel *ch, struct request_log *log);
int request_channel_start(struct request_channel *c, int64_t deadline_ms, struct err *e);
int request_channel_stop(struct request_channel *c, int64_t deadline_ms, struct err *e);

/* A channel_frame_fn; `requests` is the struct request_channel. */
int request_channel_frame(void *requests, const struct channel_frame *f, struct err *e);

#endif
