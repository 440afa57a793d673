/* The agent's end of the channel's frames for heap walks (common/proto/heap_frames.h): one request, its answer. The thread that owns the
 * channel. All answers are outside bytes. */
#ifndef DRDOTNET_HEAP_CLIENT_H
#define DRDOTNET_HEAP_CLIENT_H

#include "agent/attach/profiler_channel.h"
#include "common/proto/heap_frames.h"

struct heap_client {
	struct profiler_channel *channel;
	/* names, while they are asked for; borrowed from the frame */
	void (*on_type)(void *ctx, const struct heap_type_frame *t, struct wire_reader *fields);
	void (*on_static)(void *ctx, const struct heap_static_frame *s);
	void *ctx;
	/* the answer */
	uint16_t waiting_for; /* 0: for none */
	bool answered;
	struct err refusal;
	struct heap_prediction prediction;
	struct heap_walked walked;
};

void heap_client_init(struct heap_client *c, struct profiler_channel *ch); /* takes the channel's extension frames */
void heap_client_fini(struct heap_client *c);
/* A frame of the library; channel_frame_fn, `ctx` is the client. */
int heap_client_frame(void *ctx, const struct channel_frame *f, struct err *e);

/* -1: refused by the library, not answered in time, or the channel is over. */
int heap_client_pass_ring(struct heap_client *c, int fd, int64_t deadline_ms, struct err *e);
int heap_client_predict(struct heap_client *c, const struct heap_predict_request *q, struct heap_prediction *out, int64_t deadline_ms, struct err *e);
int heap_client_walk(struct heap_client *c, const struct heap_walk_request *q, struct heap_walked *out, int64_t deadline_ms, struct err *e);
/* At most HEAP_FRAME_MAX_IDS at once; the names come to on_type; functions: profiler_channel_function(). */
int heap_client_name_types(struct heap_client *c, const uint64_t *class_ids, size_t count, int64_t deadline_ms, struct err *e);
int heap_client_name_functions(struct heap_client *c, const uint64_t *ids, size_t count, int64_t deadline_ms, struct err *e);
struct heap_static_record;
int heap_client_name_statics(struct heap_client *c, const struct heap_static_record *statics, size_t count, int64_t deadline_ms,
			     struct err *e);

#endif
