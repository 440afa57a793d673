/* What a session cost, and its JSON: the same in link messages, in a session's status and in the local command's output. */
#ifndef DRDOTNET_SESSION_COST_H
#define DRDOTNET_SESSION_COST_H

#include <stdint.h>

struct session_cost {
	int64_t max_pause_us;        /* longest pause of the application, all its threads, that we made; 0: none */
	int64_t max_wait_us;         /* the longest that one of its threads waited for us */
	int64_t added_cpu_ms;        /* CPU that the library used in the target */
	int64_t agent_cpu_ms;
	int64_t dropped_samples;
	int64_t samples;
	int64_t blocking_collections, blocking_collections_us; /* full ones that stopped the application because of the session, and how long in sum */
};

struct json_t;

/* A new reference with all numbers; negative ones count as 0. */
struct json_t *session_cost_to_json(const struct session_cost *c);

#endif
