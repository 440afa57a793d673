/* The tracks of single requests: which thread worked for which of them and when, in windows of time, and what they asked of others. Bounded: what comes when
 * it is full is counted. One thread. */
#ifndef DRDOTNET_REQUEST_TRAIL_H
#define DRDOTNET_REQUEST_TRAIL_H

#include "common/proto/channel_requests.h"

#define TRAIL_SWITCHES (1u << 21)
#define TRAIL_CALLS (1u << 19)
#define TRAIL_WINDOWS 65536u

struct trail_stay { /* a thread worked for a request */
	uint64_t from_ns, to_ns;
	uint32_t number, tid;
};

struct request_trail {
	struct channel_request_switch *switches;
	size_t switch_count, switch_cap;
	struct channel_request_call *calls; /* after request_trail_sort(): by request, then by start */
	size_t call_count, call_cap;
	struct channel_request_window *windows;
	size_t window_count, window_cap;
	uint64_t left_out;
	struct trail_stay *stays;           /* after request_trail_sort(): by request, then by start */
	size_t stay_count;
	struct trail_stay *by_thread;       /* the same, by thread, then by start */
};

void request_trail_switch(struct request_trail *t, const struct channel_request_switch *s);
void request_trail_call(struct request_trail *t, const struct channel_request_call *c);
void request_trail_window(struct request_trail *t, const struct channel_request_window *w);
void request_trail_fini(struct request_trail *t);

/* All has come. */
void request_trail_sort(struct request_trail *t);

/* Those of one request: the first one's place, and how many. */
size_t request_trail_stays(const struct request_trail *t, uint32_t number, size_t *count);
size_t request_trail_calls(const struct request_trail *t, uint32_t number, size_t *count);

/* The request that the thread works for at that moment; 0: none that is known. */
uint32_t request_trail_at(const struct request_trail *t, uint32_t tid, uint64_t at_ns);

#endif
