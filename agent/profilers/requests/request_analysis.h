/* From the log to the endpoints that a report shows, by the time that their users waited. Shapes that turned out to be one route (a word in them is a value)
 * are one endpoint. Pure; one thread; borrows from the capture. */
#ifndef DRDOTNET_REQUEST_ANALYSIS_H
#define DRDOTNET_REQUEST_ANALYSIS_H

#include "agent/profilers/requests/request_bill.h"
#include "agent/profilers/requests/request_capture.h"
#include "agent/profilers/requests/request_code.h"
#include "agent/profilers/requests/request_peer_match.h"

struct endpoint_figures {
	const char *name;      /* "others": those that had no room */
	struct latency_histogram *latency;
	uint64_t requests;     /* ended, streams too */
	uint64_t streams;      /* ended: web sockets, event streams and streaming calls of gRPC, which are not slow */
	uint64_t grpc;         /* calls of it, streams too */
	uint64_t kinds[STREAM_KINDS]; /* ended or in flight */
	uint32_t open_streams; /* in flight at the end, and known to be streams */
	uint64_t status[REQUEST_CLASSES], with_status;
	uint64_t with_client, most_of_client; /* of how many the client's address was told; of them, those of the one with most */
	uint32_t clients;      /* addresses */
	double per_second;
	double error_percent;  /* 5xx; NAN: no status is known */
	uint64_t p50_ns, p95_ns, p99_ns, longest_ns;
	double waited_ns;      /* the sum of all lengths, and of the ages of those in flight */
	uint32_t open;         /* in flight at the end, without these */
	uint64_t oldest_ns;    /* the age of the oldest of them; 0: there is none */
	bool is_stream;        /* most that ended were streams: all those in flight are taken for such, too; or none ended, and streams are in flight */
	struct channel_request_done first; /* the first that ended */
	struct channel_request_done typical; /* one as long as half of them, about; number 0: there is none */
	size_t id;             /* before they were sorted */
	struct request_slowest slowest, told;
	struct request_slowest billed; /* the slowest; those that are told, where enough of them are as slow */
	struct request_bill bill;
	bool bill_of_told;
	struct peer_match peers; /* of those billed */
	struct endpoint_awaits awaits; /* of those billed */
	struct endpoint_code code; /* of all that ended */
};

struct request_analysis {
	const struct request_capture *capture;
	struct endpoint_figures *endpoints; /* by falling waited_ns, streams last */
	size_t endpoint_count;
	double seconds;
	uint64_t requests, streams, open, with_status, errors;
	uint64_t p50_ns, p95_ns, p99_ns, longest_ns;
	double waited_ns;
	double cpus; /* NAN: not known */
	struct wait_analysis waits; /* has_waits */
	bool has_waits;
	struct request_work work;
	struct request_code code;
	double gc_percent, jit_percent; /* of the samples of CPU time; NAN */
	double followed_percent; /* of the time, in which requests were followed */
	double counted_percent;  /* in which they were followed, or counted at least */
	double window_percent; /* of the time, in which it was told which thread works for which request */
};

/* Of the time that users waited for all endpoints. */
double request_analysis_percent(const struct request_analysis *a, const struct endpoint_figures *f);

/* What most of its streams are; STREAM_NONE: it has none. */
enum request_stream_kind request_analysis_kind(const struct endpoint_figures *f);

/* What a call asked: "http shop.local:8080", "sql SELECT ...". */
const char *request_analysis_call(const struct request_analysis *a, uint32_t shape);

void request_analysis_run(const struct request_capture *c, struct request_analysis *out);
void request_analysis_fini(struct request_analysis *a);

#endif
