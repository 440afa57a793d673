/* What is known of the clients of requests: whose requests they are, and when their connections took no more of what was sent. Bounded. One thread. */
#ifndef DRDOTNET_REQUEST_ANSWERS_H
#define DRDOTNET_REQUEST_ANSWERS_H

#include "agent/profilers/requests/request_trail.h"

#define ANSWERS_MOST (1u << 18)
#define STALLS_MOST (1u << 16)
#define STALLS_AT_ONCE 256u

/* The wait for a client is a call of a request, with a shape that no library may send. */
#define REQUEST_SHAPE_CLIENT CHANNEL_REQUESTS_SHAPES_MOST
#define REQUEST_CLIENT_NAME "the client to read the response"

struct request_stall { /* a connection's send buffer was full at each look in this time */
	uint64_t from_ns, to_ns;
	uint64_t acked_bytes, window_ns; /* went out meanwhile; of the time, as its receive window let nothing more be sent */
	uint16_t port;
};

struct stalled_now { /* at the last look */
	struct channel_request_stall at;
	size_t stall; /* that goes on; SIZE_MAX: it has just begun */
};

struct request_answers {
	struct channel_request_answer *list; /* after request_answers_sort(): by number */
	size_t count, cap;
	struct request_stall *stalls;        /* after request_answers_sort(): by port, then by time */
	size_t stall_count, stall_cap;
	struct stalled_now now[STALLS_AT_ONCE];
	size_t now_count;
	uint64_t looked_ns;
};

void request_answers_add(struct request_answers *x, const struct channel_request_answer *a);
void request_answers_look(struct request_answers *x, uint64_t at_ns, const struct channel_request_stall *list, size_t count);
void request_answers_fini(struct request_answers *x);

/* All has come: sorts, and puts the waits for clients into the trail, which is not sorted yet. Connections with several requests at once are left out. */
void request_answers_sort(struct request_answers *x, struct request_trail *t);

/* What went out while this request's connection took no more, and how much of that time its window was closed; added to *bytes and *window_ns. */
void request_answers_sums(const struct request_answers *x, uint32_t number, uint64_t *bytes, uint64_t *window_ns);

#endif
