/* The requests in flight, by the activity that the runtime has given them. Threads of the application put, find and take without a lock; the library's own
 * goes through all of them. Bounded: what finds no room is not followed, and counted by the caller. */
#ifndef DRDOTNET_REQUEST_TABLE_H
#define DRDOTNET_REQUEST_TABLE_H

#include "profiler/requests/activity_path.h"

#include <stdatomic.h>

#define REQUEST_BUCKETS 8192 /* powers of two */
#define REQUEST_BUCKET 8

struct request {
	uint32_t number, shape, tid; /* of this session, from 1; shape_table_intern(); thread that it began on */
	uint16_t status;             /* 0: not told */
	uint8_t stream;              /* enum request_stream */
	uint64_t start_ns;           /* CLOCK_MONOTONIC */
};

/* CLR callback. */
bool request_table_put(struct activity_path p, const struct request *r); /* false: no room */
bool request_table_take(struct activity_path p, struct request *out);    /* removes it; false: it is not there */
void request_table_end(struct activity_path p, uint16_t status, uint8_t stream); /* what its response tells; nothing where it is not there */
/* The number of the request that the activity belongs to, or is below; 0: none. */
uint32_t request_table_find(struct activity_path p);

/* Own thread. */
typedef void request_table_fn(void *ctx, const struct request *r);
void request_table_each(request_table_fn *fn, void *ctx); /* some may be gone by the time */
void request_table_reset(void);                           /* while nobody else uses it */

#endif
