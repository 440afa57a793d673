/* What a SlowRequests session has seen so far, in a line for those who watch it. Pure. */
#ifndef DRDOTNET_REQUEST_LIVE_H
#define DRDOTNET_REQUEST_LIVE_H

#include "agent/profilers/requests/request_log.h"
#include "common/base/buf.h"

/* "2,280 requests, 285/s, 3 in flight; most waiting: GET /orders/{id}, p95 2.3 s", since `started_ns`. Streams are in none of it. */
void request_live_text(const struct request_log *l, uint64_t started_ns, struct buf *out);

#endif
