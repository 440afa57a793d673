/* Turns what a library tells of allocations into a capture while the session runs: sites are kept by their numbers; their stacks are
 * named about each second, so that code that disappears has been named before. One thread owns it. */
#ifndef DRDOTNET_ALLOC_COLLECT_H
#define DRDOTNET_ALLOC_COLLECT_H

#include "agent/profilers/allocs/alloc_capture.h"
#include "agent/profilers/allocs/allocs_channel.h"
#include "agent/stacks/cpu_collect.h"

struct alloc_collect_options {
	struct alloc_capture *capture; /* filled; outlives the collector */
	int proc_fd;                   /* /proc/PID, borrowed; -1: none */
	int64_t started_ns;            /* CLOCK_MONOTONIC */
	frame_il_fn *il;               /* NULL: frames are told without their lines */
	void *il_ctx;
};

struct alloc_collect;

struct alloc_collect *alloc_collect_new(const struct alloc_collect_options *o);
void alloc_collect_free(struct alloc_collect *c);

/* What has come on the channel; to be flushed when it says so (the room for stacks without names is half used). */
bool alloc_collect_take(struct alloc_collect *c, struct allocs_channel *from);
void alloc_collect_flush(struct alloc_collect *c, frame_resolve_fn *resolve, void *ctx);
/* After the last flush. */
void alloc_collect_finish(struct alloc_collect *c, const struct allocs_channel *from);

uint64_t alloc_collect_samples(const struct alloc_collect *c);

#endif
