/* Turns what the library tells of the runtime's stops into a capture while a session runs: stops get their stacks, stacks their names,
 * threads theirs, as long as these can be had. One thread owns it. */
#ifndef DRDOTNET_PAUSE_COLLECT_H
#define DRDOTNET_PAUSE_COLLECT_H

#include "agent/profilers/pauses/pause_capture.h"
#include "agent/profilers/pauses/pause_frames.h"

#define PAUSE_LATE_NS 1000000 /* a suspension that takes longer has somebody to blame, or a machine without a free CPU */

/* Names for instruction pointers, NULL for those without; -1: none to be had now. */
typedef int pause_resolve_fn(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out);
/* The name of a thread of the process, "" when it cannot be had. */
typedef void pause_thread_name_fn(void *ctx, uint32_t tid, char *out, size_t size);

struct pause_collect_options {
	struct pause_capture *capture; /* zeroed; filled; outlives the collector */
	int64_t started_ns;            /* CLOCK_MONOTONIC, the session's first moment */
	pause_resolve_fn *resolve;
	pause_thread_name_fn *thread_name;
	void *ctx;
};

struct pause_collect;

struct pause_collect *pause_collect_new(const struct pause_collect_options *o);
void pause_collect_free(struct pause_collect *c);
/* Takes all that the frames hold and empties them. */
void pause_collect_take(struct pause_collect *c, struct pause_frames *frames);
/* After the last take: pauses by time, what was dropped. */
void pause_collect_finish(struct pause_collect *c, const struct pause_frames *frames);

#endif
