/* What is under way, by the activity that the runtime has given it: requests in flight, and what they ask of others. Threads of the application put, find
 * and take without a lock; the library's own goes through all of them. Bounded: what finds no room is not followed, and counted by the caller. */
#ifndef DRDOTNET_REQUEST_TABLE_H
#define DRDOTNET_REQUEST_TABLE_H

#include "profiler/requests/activity_path.h"

#include <stdatomic.h>

#define REQUEST_BUCKETS 8192 /* of requests in flight */
#define CALL_BUCKETS 2048    /* of calls */
#define REQUEST_BUCKET 8

struct request {
	uint32_t number, shape, tid; /* of this session, from 1; shape_table_intern(); thread that it began on */
	uint16_t status;             /* 0: not told */
	uint8_t stream;              /* enum request_stream; of a call: what it was put with */
	uint64_t start_ns;           /* CLOCK_MONOTONIC */
};

struct request_table;
extern struct request_table requests_open;
extern struct request_table calls_open; /* of a call: the number of its request; status not 0: it failed */

/* CLR callback. */
bool request_table_put(struct request_table *t, struct activity_path p, const struct request *r); /* false: no room */
bool request_table_take(struct request_table *t, struct activity_path p, struct request *out);    /* removes it; false: it is not there */
/* What its response tells; what was known when it was put stays. Its shape; 0: it is not there. */
uint32_t request_table_end(struct request_table *t, struct activity_path p, uint16_t status, uint8_t stream);
/* What the activity, or the nearest one above it, was put with. false: it is not there. */
bool request_table_peek(struct request_table *t, struct activity_path p, struct request *out);
/* The number of the request that the activity belongs to, or is below; 0: none. */
uint32_t request_table_find(struct request_table *t, struct activity_path p);

/* Own thread. */
typedef void request_table_fn(void *ctx, const struct request *r);
void request_table_each(struct request_table *t, request_table_fn *fn, void *ctx); /* some may be gone by the time */
void request_table_drop(struct request_table *t, uint8_t stream);  /* those that were put with it */
void request_table_reset(struct request_table *t);        /* while nobody else uses it */

#endif
