/* The rules of SlowRequests that judge waits for connections and for threads of the pool, and requests from before the session. Part of request_rules.c.
 * Pure; any thread. */
#ifndef DRDOTNET_REQUEST_POOL_RULES_H
#define DRDOTNET_REQUEST_POOL_RULES_H

#include "agent/report/rules.h"

struct rule_score request_pool_exhausted(const void *numbers);
void request_pool_says_exhausted(const void *numbers, struct finding *out);
struct rule_score request_pool_anew(const void *numbers);
void request_pool_says_anew(const void *numbers, struct finding *out);
struct rule_score request_pool_gate(const void *numbers);
void request_pool_says_gate(const void *numbers, struct finding *out);
const char *request_pool_needs_queue(const void *numbers);
struct rule_score request_pool_workers(const void *numbers);
void request_pool_says_workers(const void *numbers, struct finding *out);
struct rule_score request_pool_unanswered(const void *numbers);
void request_pool_says_unanswered(const void *numbers, struct finding *out);

#endif
