/* Where the time of requests went: each moment of a request is of one part, so that the parts add up to the whole. Pure; one thread. */
#ifndef DRDOTNET_REQUEST_BILL_H
#define DRDOTNET_REQUEST_BILL_H

#include "agent/profilers/requests/request_trail.h"
#include "agent/profilers/requests/request_rest.h"

#define BILL_PLACES 16 /* where threads wait; more are in the sums only */
#define BILL_CALLS 8 /* shapes of calls of an endpoint that are told apart; the rest is "others" */

struct bill_call { /* what requests waited for */
	uint32_t shape;
	uint64_t ns;       /* no thread worked for the request, and this call was the last one begun of those under way */
	uint64_t thread_ns; /* a thread worked for the request, or was blocked in it, and this call was under way */
	uint64_t count, failed;
	uint64_t longest_ns;
};

struct bill_place { /* where threads of requests waited */
	uint32_t place;   /* of the waits' analysis */
	uint8_t doing;    /* enum request_doing */
	uint64_t ns, waits;
};

struct request_bill {
	uint64_t requests, total_ns;
	uint64_t thread_ns;   /* a thread worked for the request, or was blocked in it; with calls[].thread_ns */
	uint64_t doing_ns[DOING_COUNT]; /* its parts */
	uint64_t task_call_ns; /* of DOING_TASK: a call that is known was under way */
	uint64_t samples;     /* of CPU time, while threads worked for these requests */
	uint64_t untold_samples; /* of them, where nothing else tells what the thread did */
	struct work_rest rest; /* of that time, of all threads */
	struct bill_place places[BILL_PLACES]; /* by falling ns once request_bill_finish() was called */
	size_t place_count;
	uint64_t await_ns;    /* no thread did, and no call that is known was under way: a timer, a semaphore, the pool, the client */
	uint64_t unseen_ns;   /* outside of the windows, and no call was under way */
	struct bill_call calls[BILL_CALLS + 1]; /* by falling ns + thread_ns once request_bill_finish() was called; the last one has shape UINT32_MAX: others */
	size_t call_count;
};

/* One request, moment by moment in the order of time. `doing`: DOING_COUNT: no thread worked for it; `call`: its shape, of the last one begun of those under
 * way, or UINT32_MAX; `place`: where the thread waits, or WORK_NO_PLACE; `seen`: it was told which threads work. */
struct bill_moment {
	uint64_t from_ns, to_ns;
	uint32_t call, place;
	uint8_t doing;
	bool seen;
};
typedef void request_bill_fn(void *ctx, const struct bill_moment *m);
/* `t` is sorted. */
void request_bill_walk(const struct request_trail *t, const struct request_work *w, const struct channel_request_done *d, request_bill_fn *moment, void *ctx);

/* Adds one request. */
void request_bill_add(struct request_bill *b, const struct request_trail *t, const struct request_work *w, const struct channel_request_done *d);
/* All are added: where nothing else tells, the scheduler's figures tell how much of it at least was waiting for a CPU, and samples of CPU time (each stands for
 * `period_ns`), within the scheduler's figures, how much was code. */
void request_bill_finish(struct request_bill *b, int64_t period_ns);

/* The mean length of its requests; 0: there are none. */
double request_bill_mean_ms(const struct request_bill *b);

#endif
