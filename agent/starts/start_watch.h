/* While the controller wants it: new containers of the pods that it names are sampled from their first instruction on, in a thread of its own that sleeps
 * until one appears; of other pods' nothing is sampled. A container in which no .NET process is seen for START_LOOK_MS is let go; of one with a .NET process
 * is told, and its capture is kept for START_KEEP_MS, for a job to claim it. Bounded: START_MAX captures at a time, shared among namespaces
 * (start_share.h). The controller's word on a pod may come when its container is there already: one that has appeared START_LATE_MS ago at most is
 * sampled from then on. */
#ifndef DRDOTNET_START_WATCH_H
#define DRDOTNET_START_WATCH_H

#include "agent/starts/start_capture.h"
#include "common/link/link_starts.h"

#define START_MAX 8
#define START_LOOK_MS 30000
#define START_KEEP_MS 30000
#define START_LATE_MS 10000

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

/* Any thread; never blocks. In place of what was wanted before. */
void start_watch_set(struct start_watch *w, const struct link_await_starts *a);

/* The capture of this pod's newest container with a .NET process, the caller's to free; NULL: there is none (any more). Any thread. */
struct start_capture *start_watch_claim(struct start_watch *w, const char *pod_uid);

#endif
