/* What the rules judge of waits for connections and for threads of the pool, and of requests from before the session. Part of request_numbers.c. Pure. */
#ifndef DRDOTNET_REQUEST_POOL_NUMBERS_H
#define DRDOTNET_REQUEST_POOL_NUMBERS_H

#include "agent/profilers/requests/request_numbers.h"

#define POOL_QUEUED 2.0      /* items, on average, are a queue */
#define POOL_LEAST_MET 3    /* looks at which requests await */

/* The thread pool at looks at which requests awaited something that no event tells of. */
struct queue_match {
	size_t looks;          /* at which one of the requests awaited so */
	double items;          /* in the queue, summed over them */
	int64_t most;          /* at one */
	size_t busy, blocked;  /* workers that had work, summed over the looks; of these, those that waited for something else than a CPU */
};
/* Of an endpoint's slowest requests. `a` has waits. */
void request_queue_match(const struct request_analysis *a, const struct endpoint_figures *f, struct queue_match *out);

void request_pool_numbers_of(const struct request_analysis *a, struct request_numbers *out);

#endif
