/* What a SlowRequests session collected, from frame to frame: for each endpoint all its requests by length and status, the slowest ones and some at random one
 * by one, and who is in flight. Memory is bounded by the number of endpoints, not of requests. One thread. */
#ifndef DRDOTNET_REQUEST_LOG_H
#define DRDOTNET_REQUEST_LOG_H

#include "agent/profilers/requests/latency_histogram.h"
#include "agent/profilers/requests/request_answers.h"
#include "agent/profilers/requests/request_awaits.h"
#include "agent/profilers/requests/request_peers.h"

#define REQUEST_SLOWEST 32 /* kept of an endpoint */
#define REQUEST_RANDOM 64
#define REQUEST_NUMBERS_KEPT (1u << 22) /* of so many requests it is known of which endpoint they are: 8 MB */
#define REQUEST_CLASSES 6  /* of status: unknown, 1xx ... 5xx */

/* STREAM_GRPC: a call that is no stream, or not known to be one. */
enum request_stream_kind {
	STREAM_NONE,
	STREAM_WEB_SOCKET,
	STREAM_EVENTS,
	STREAM_GRPC,
	STREAM_GRPC_CLIENT,
	STREAM_GRPC_SERVER,
	STREAM_GRPC_DUPLEX,
	STREAM_KINDS
};
bool request_stream_is(enum request_stream_kind k);          /* it lasts as long as it is meant to */
const char *request_stream_key(enum request_stream_kind k);  /* "webSocket", ... for report.json; NULL: it is none */

struct request_slowest { /* the slowest first */
	struct channel_request_done list[REQUEST_SLOWEST];
	size_t count;
};

/* What ended in one time of the library's: it may stand for what was not told before and after it, too (REQUESTS_ROUNDS). */
struct request_round {
	struct latency_histogram latency;
	uint64_t status[REQUEST_CLASSES], streams[STREAM_KINDS], ended;
};

struct request_endpoint {
	char *name;                       /* "GET /orders/{id}", printable; NULL: not told */
	uint32_t template;                /* the shape of its route; 0: not told, or of several */
	struct latency_histogram latency; /* of what is no stream; this and the next three: with those that were not seen, by what the rounds stand for */
	uint64_t status[REQUEST_CLASSES];
	uint64_t streams[STREAM_KINDS];   /* ended; calls of gRPC that are no streams are requests like others */
	uint64_t ended;                   /* requests, streams too */
	struct request_round rounds[2];   /* the one that runs and the one before it, by turns */
	struct channel_request_done first; /* the first that ended */
	struct request_slowest slowest, told; /* told: of those of which switches were told all of the time */
	struct channel_request_done random[REQUEST_RANDOM];
	size_t random_count;
	struct channel_request_open open; /* in flight at the last look; count 0: none but streams */
};

struct request_log {
	struct request_endpoint **endpoints; /* by number of shape; NULL: not met */
	size_t endpoint_cap;
	uint16_t *shape_of;                  /* by number of request; 0: not known, it has not ended or is others */
	size_t shape_cap;
	uint64_t requests, dropped_endpoints; /* that were seen to end */
	uint64_t open_at_ns;                 /* the last look; 0: there was none */
	uint64_t told_to_ns;                 /* until then all that ended has come; 0: nothing has */
	uint64_t rest_ns, rests;             /* in which requests were not followed */
	uint64_t counted_ns;                 /* of those, in which they were counted all the same */
	struct channel_request_round before; /* the last round that is over */
	unsigned turn;                       /* of the endpoints' rounds: that which runs */
	uint32_t dice;
	struct request_trail trail;
	struct request_answers answers;
	struct request_awaits awaits;
	struct request_peers peers;
	struct channel_requests_unanswered unanswered;
};

/* Streams of it that ended. */
uint64_t request_endpoint_streams(const struct request_endpoint *p);

/* Keeps it if it is one of the slowest. */
void request_slowest_keep(struct request_slowest *s, const struct channel_request_done *d);

uint64_t request_length_ns(const struct channel_request_done *d);

struct request_log *request_log_new(void);
void request_log_free(struct request_log *l); /* takes NULL */

void request_log_shape(struct request_log *l, const struct channel_request_shape *s);
void request_log_template(struct request_log *l, const struct channel_request_template *t);
void request_log_done(struct request_log *l, const struct channel_request_done *d);
void request_log_round(struct request_log *l, const struct channel_request_round *r); /* what ended since the last one, ended in this */
void request_log_look(struct request_log *l, uint64_t at_ns); /* a look at who is in flight begins; those of the last one are no more */
void request_log_open(struct request_log *l, const struct channel_request_open *o);

/* The shape of a request that ended; 0: not known. */
uint32_t request_log_shape_of(const struct request_log *l, uint32_t number);

#endif
