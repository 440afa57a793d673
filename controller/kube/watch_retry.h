/* How long a list-watch waits before its next call. Pure: kube_watch.c does the calls and the waiting.
 *
 * Failures of one kind make the next ones wait longer, up to WATCH_RETRY_MOST_MS: somebody's session waits for this watch, and a call each
 * few seconds is nothing to an API server. What failed while the server was away is no reason to wait once it answers. */
#ifndef DRDOTNET_WATCH_RETRY_H
#define DRDOTNET_WATCH_RETRY_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define WATCH_RETRY_LEAST_MS 200
#define WATCH_RETRY_MOST_MS 5000

struct watch_retry {
	unsigned failures;
	unsigned gone; /* since a watch last went on */
	bool away;     /* nothing answered the last call */
};

/* Doubles from WATCH_RETRY_LEAST_MS with each failure, less up to a half by `random`. */
int64_t watch_retry_backoff_ms(unsigned failures, uint32_t random);

/* A call failed: how long to wait. A place in the history that is gone costs nothing the first time: a list is all that it takes. */
int64_t watch_retry_failed(struct watch_retry *r, const struct err *e, uint32_t random);

/* A list came through. */
void watch_retry_listed(struct watch_retry *r);

/* A watch has ended well. One that was ended at once must not be asked for in a tight loop. */
int64_t watch_retry_ended(struct watch_retry *r, bool too_short);

/* A watch lasted for a while, and told of something or ended well. */
void watch_retry_went_on(struct watch_retry *r);

#endif
