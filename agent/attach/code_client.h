/* Asks the library where the code begins that instruction pointers lie in (common/proto/channel_code.h). Of one channel and its thread. */
#ifndef DRDOTNET_CODE_CLIENT_H
#define DRDOTNET_CODE_CLIENT_H

#include "agent/attach/profiler_channel.h"
#include "common/proto/channel_code.h"

#include <stddef.h>

struct code_client { /* zeroed: of no channel */
	struct profiler_channel *channel;
	struct channel_code_body *out; /* of the question that waits; NULL: none does */
	uint32_t expected;
	unsigned stale; /* answers to come to questions that were given up */
};

void code_client_init(struct code_client *c, struct profiler_channel *ch);

/* out[i].bytes is 0 where the runtime knows no code. -1: as profiler_channel_await(). */
int code_client_ask(struct code_client *c, const uint64_t *ips, size_t count, struct channel_code_body *out, int64_t deadline_ms, struct err *e);

/* A frame of the library's; the channel's handler, and for tests. */
int code_client_frame(void *ctx, const struct channel_frame *f, struct err *e);

#endif
