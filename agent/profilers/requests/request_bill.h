/* Where the time of requests went: each moment of a request is of one part, so that the parts add up to the whole. Pure; one thread. */
#ifndef DRDOTNET_REQUEST_BILL_H
#define DRDOTNET_REQUEST_BILL_H

#include "agent/profilers/requests/request_trail.h"

#define BILL_CALLS 8 /* shapes of calls of an endpoint that are told apart; the rest is "others" */

struct bill_call { /* what requests waited for */
	uint32_t shape;
	uint64_t ns;       /* no thread worked for the request, and this call was the last one begun of those under way */
	uint64_t thread_ns; /* a thread worked for the request, or was blocked in it, and this call was under way */
	uint64_t count, failed;
	uint64_t longest_ns;
};

struct request_bill {
	uint64_t requests, total_ns;
	uint64_t thread_ns;   /* a thread worked for the request, or was blocked in it; with calls[].thread_ns */
	uint64_t await_ns;    /* no thread did, and no call that is known was under way: a timer, a semaphore, the pool, the client */
	uint64_t unseen_ns;   /* outside of the windows, and no call was under way */
	struct bill_call calls[BILL_CALLS + 1]; /* by falling ns + thread_ns once request_bill_finish() was called; the last one has shape UINT32_MAX: others */
	size_t call_count;
};

/* Adds one request. `t` is sorted. */
void request_bill_add(struct request_bill *b, const struct request_trail *t, const struct channel_request_done *d);
void request_bill_finish(struct request_bill *b);

#endif
