/* Keeps an eye on containers' CPU and memory while a leader asks for it: about once a second, in a thread of its own that exists only as
 * long as something is observed. Where no trigger asks, nothing is polled.
 *
 * A set takes the place of the one before; what is in both goes on. It is forgotten when no leader has said it again in its time. What
 * has changed is sent to the leader, again until somebody takes it; each new set also brings all that is not Normal, for a new leader. */
#ifndef DRDOTNET_OBSERVE_H
#define DRDOTNET_OBSERVE_H

#include "common/base/err.h"
#include "common/link/link_msg.h"

#define OBSERVE_EVERY_MS 1000

struct observe;

struct observe_config {
	const char *proc_root;  /* borrowed */
	int64_t every_ms;       /* 0: OBSERVE_EVERY_MS */
	void *ctx;
	int (*send)(void *ctx, const struct link_msg *m, struct err *e); /* to the leader; in the observing thread */
};

struct observe *observe_new(const struct observe_config *c);
void observe_stop(struct observe *o); /* ends the thread: nothing is sent any more, and sets are ignored */
void observe_free(struct observe *o); /* stops it before; NULL is taken */

/* A LINK_MSG_OBSERVE. Never blocks. */
void observe_set(struct observe *o, const struct link_msg *m);

struct observe_status {
	size_t count;      /* observed now */
	uint64_t samples;  /* looks at control groups since the start */
};
void observe_get_status(struct observe *o, struct observe_status *out);

#endif
