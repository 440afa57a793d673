/* Turns what a library tells of exceptions into a capture while the session runs: sites are kept by their numbers; their stacks are
 * named about each second, so that code that disappears has been named before. One thread owns it. */
#ifndef DRDOTNET_EXCEPTION_COLLECT_H
#define DRDOTNET_EXCEPTION_COLLECT_H

#include "agent/profilers/exceptions/exception_capture.h"
#include "agent/profilers/exceptions/exception_channel.h"
#include "agent/stacks/cpu_collect.h"

struct exception_collect_options {
	struct exception_capture *capture; /* filled; outlives the collector */
	int proc_fd;                       /* /proc/PID, borrowed; -1: none */
	int64_t started_ns;                /* CLOCK_MONOTONIC */
	frame_il_fn *il;                   /* NULL: frames are told without their lines */
	void *il_ctx;
	void (*threw)(void *ctx, const uint64_t *ips, size_t depth); /* told of the stack of each place, leaf first; may be NULL */
	void *threw_ctx;
};

struct exception_collect;

struct exception_collect *exception_collect_new(const struct exception_collect_options *o);
void exception_collect_free(struct exception_collect *c);

/* What has come on the channel; to be flushed when it says so (the room for stacks without names is half used). */
bool exception_collect_take(struct exception_collect *c, struct exception_channel *from);
void exception_collect_flush(struct exception_collect *c, frame_resolve_fn *resolve, void *ctx);
/* After the last flush. */
void exception_collect_finish(struct exception_collect *c, const struct exception_channel *from);

uint64_t exception_collect_counted(const struct exception_collect *c);

#endif
