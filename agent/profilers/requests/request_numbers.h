/* What the rules of SlowRequests judge. Pure; any thread. */
#ifndef DRDOTNET_REQUEST_NUMBERS_H
#define DRDOTNET_REQUEST_NUMBERS_H

#include "agent/profilers/requests/request_analysis.h"
#include "agent/report/rules.h"

/* lost_percent: of the requests that the runtime told of, those that could not be followed. top_*: of the endpoint whose users waited most; percent: of all
 * waiting. open_*: of the endpoint whose oldest request in flight is oldest; done: requests of it that ended. error_*: of the endpoint with most failures.
 * first_*: of the endpoint whose first request took most beyond its p95. */
#define REQUEST_NUMBERS(NUMBER, TEXT)                                                                                                              \
	NUMBER(seconds) NUMBER(requests) NUMBER(per_second) NUMBER(lost_percent) NUMBER(p50_ms) NUMBER(p95_ms) NUMBER(p99_ms) NUMBER(longest_ms)    \
	NUMBER(top_percent) NUMBER(top_per_second) NUMBER(top_p50_ms) NUMBER(top_p95_ms) NUMBER(top_p99_ms)                                         \
	NUMBER(in_flight) NUMBER(open_count) NUMBER(open_oldest_s) NUMBER(open_p99_s) NUMBER(open_done)                                            \
	NUMBER(status_percent) NUMBER(error_percent) NUMBER(error_endpoint_percent) NUMBER(error_count)                                            \
	TEXT(top_endpoint) TEXT(open_endpoint) TEXT(error_endpoint)
RULE_STRUCT(request_numbers, REQUEST_NUMBERS);

void request_numbers_of(const struct request_analysis *a, struct request_numbers *out);

extern const struct rule request_rules[];
extern const size_t request_rule_count;

#endif
