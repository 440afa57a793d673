/* Counts the requests that come while nobody is followed, where that is worth it: a session of its own holds hosting's count (hosting_count.h) in each rest,
 * and rest_count.h says what to make of it. A source that has had a session with events makes them for one without as well until nobody listens for a moment:
 * so the first session is closed before that one is opened, and what begins between them is told by the rest's other requests. Own thread. */
#ifndef DRDOTNET_REST_WATCH_H
#define DRDOTNET_REST_WATCH_H

#include "profiler/requests/rest_count.h"

struct rest_told { /* of requests, as the runtime told; read beside the other count, again where many began between */
	_Atomic uint64_t started, ended, older; /* older: ended, and had not been seen to begin */
};

void rest_watch_reset(const struct rest_told *told);
/* A rest began at `since_ns`, and the first session is closed. */
void rest_watch_rest(void *info, bool worth_it, uint64_t since_ns);
/* Requests are followed again, or the session ends in a rest. */
void rest_watch_round(void *info);
/* A round is over: how many came in the rest before it; REST_NOT_COUNTED. */
uint64_t rest_watch_count(void);
/* How many are in flight that are not followed; REST_NOT_COUNTED. */
uint64_t rest_watch_in_flight(bool in_round);

#endif
