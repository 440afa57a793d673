/* What the library tells of the runtime's stops, as it comes on the channel: kept until the session takes it. The frames are outside
 * text: bounded, checked. One thread. */
#ifndef DRDOTNET_PAUSE_FRAMES_H
#define DRDOTNET_PAUSE_FRAMES_H

#include "agent/attach/profiler_channel.h"
#include "common/proto/channel_stops.h"

#define PAUSE_FRAMES_MAX_STOPS 65536 /* between two takings: far more than the library can send in that time */
#define PAUSE_FRAMES_MAX_STACKS 4096

struct pause_frames { /* zeroed: empty */
	struct channel_stop *stops;
	size_t stop_count, stop_cap;
	struct channel_stop_stack *stacks;
	size_t stack_count, stack_cap;
	uint64_t dropped;                 /* came and found no room */
	struct channel_stops_state state; /* the last */
	unsigned answers;                 /* STOPS_STATE and ERROR that have come */
	bool refused;                     /* the last answer was an ERROR */
};

/* A channel_frame_fn; ctx is the struct. */
int pause_frames_add(void *ctx, const struct channel_frame *f, struct err *e);
/* CHANNEL_STOPS_BEGIN or _END, and the answer to it; ch gives its frames to *p. */
int pause_frames_ask(struct pause_frames *p, struct profiler_channel *ch, uint16_t type, int64_t deadline_ms, struct err *e);
/* What was kept goes to the caller, who ends it with pause_frames_fini(). */
struct pause_frames pause_frames_steal(struct pause_frames *p);
void pause_frames_fini(struct pause_frames *p);

#endif
