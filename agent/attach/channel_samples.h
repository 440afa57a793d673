/* Samples of the in-process sampler between their arrival and their delivery. One thread. Bounded: past SAMPLES_MAX_BYTES the
 * samples of a frame are dropped and counted. */
#ifndef DRDOTNET_CHANNEL_SAMPLES_H
#define DRDOTNET_CHANNEL_SAMPLES_H

#include "agent/attach/profiler_channel.h"
#include "common/base/buf.h"
#include "common/proto/channel.h"

#define SAMPLES_MAX_BYTES (8u << 20)

struct channel_samples {
	struct buf payloads; /* of SAMPLES frames, each behind its u32 length */
	uint64_t dropped;
};

void channel_samples_init(struct channel_samples *q);
void channel_samples_fini(struct channel_samples *q);
/* Checks the frame's records and keeps them. */
int channel_samples_add(struct channel_samples *q, const struct channel_frame *f, struct err *e);
/* Hands all of them over, in order; returns how many. on_sample may be NULL: they are thrown away. */
int channel_samples_deliver(struct channel_samples *q, channel_sample_fn *on_sample, void *ctx);

#endif
