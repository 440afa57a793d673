/* While the controller wants it: new containers of the node's pods are sampled from their first instruction on, in a thread of its own that sleeps until
 * one appears. A container in which no .NET process is seen for START_LOOK_MS is let go; of one with a .NET process is told, and its capture is kept
 * for START_KEEP_MS, for a job to claim it. Bounded: START_MAX captures at a time. */
#ifndef DRDOTNET_START_WATCH_H
#define DRDOTNET_START_WATCH_H

#include "agent/starts/start_capture.h"

#define START_MAX 8
#define START_LOOK_MS 30000
#define START_KEEP_MS 30000

struct start_watch;

struct start_watch_config {
	const char *proc_root;
	void *ctx;
	/* A .NET process is there. From the watch's thread. */
	void (*started)(void *ctx, const char *pod_uid, const char *container_id);
};

/* NULL: control groups cannot be watched here, or no thread can be made. Nothing is watched yet. */
struct start_watch *start_watch_new(const struct start_watch_config *c, struct err *e);
void start_watch_free(struct start_watch *w);

/* Any thread; never blocks. 0 seconds: no more. */
void start_watch_set(struct start_watch *w, int64_t valid_seconds, int64_t frequency_hertz);

/* The capture of this pod's newest container with a .NET process, the caller's to free; NULL: there is none (any more). Any thread. */
struct start_capture *start_watch_claim(struct start_watch *w, const char *pod_uid);

#endif
