/* Counts the requests that come while nobody is followed, where that is worth it: a session of its own holds hosting's count (hosting_count.h) from the first
 * rest on, also while requests are followed, and rest_count.h says what to make of it. Own thread. */
#ifndef DRDOTNET_REST_WATCH_H
#define DRDOTNET_REST_WATCH_H

#include "profiler/requests/rest_count.h"

/* `followed` counts the beginnings of requests that were told: it is read beside the other count, again where many began between. */
void rest_watch_reset(const _Atomic uint64_t *followed);
/* A rest comes, and requests are still followed: there is no moment in which nobody listens. */
void rest_watch_rest(void *info, bool worth_it);
/* They are followed again. */
void rest_watch_round(void);
/* A round is over, or (`in_round` false) a rest is for good: how many began unfollowed since the last round was; REST_NOT_COUNTED. */
uint64_t rest_watch_count(void *info, bool in_round);
void rest_watch_stop(void *info);

#endif
