/* What the rules judge of waits for connections and for threads of the pool, and of requests from before the session. Part of request_numbers.c. Pure. */
#ifndef DRDOTNET_REQUEST_POOL_NUMBERS_H
#define DRDOTNET_REQUEST_POOL_NUMBERS_H

#include "agent/profilers/requests/request_numbers.h"

void request_pool_numbers_of(const struct request_analysis *a, struct request_numbers *out);

#endif
