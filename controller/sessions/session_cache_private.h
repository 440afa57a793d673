/* What session_cache.c and session_cache_each.c share. */
#ifndef DRDOTNET_SESSION_CACHE_PRIVATE_H
#define DRDOTNET_SESSION_CACHE_PRIVATE_H

#include "common/base/hash.h"
#include "controller/sessions/session_cache.h"
#include "controller/sessions/session_nodes.h"

#include <pthread.h>

/* What this process knows of one pod's job beside the API server. */
struct pod_runtime {
	bool told;           /* `job` is valid */
	bool told_in_link;
	bool cancel_sent;    /* in this link */
	bool assigned;       /* by this process: nobody else has given the order */
	bool ordered;        /* by this process, in this link or before */
	int64_t ordered_ms;  /* in this link; 0: not */
	int64_t canceled_ms; /* 0: no cancel wanted yet */
	struct link_job job;
	char *granted[LINK_MAX_REPORTS]; /* names of reports that it may put into the store */
	size_t granted_count;
};

struct entry {
	char *key;
	char uid[40];
	uint64_t version;       /* resourceVersion as a number; 0: it is none */
	int64_t expires_wall_ms; /* when over */
	bool seen;              /* in the list under way */
	struct profiling_session *session; /* NULL: over */
	struct pod_runtime *pods;
	size_t pod_count;
	struct entry *prev, *next; /* of those that go on */
	UT_hash_handle by_key, by_uid;
};

struct session_cache {
	pthread_mutex_t lock;
	struct entry *keys, *uids;
	struct entry *active;
	size_t active_count;
	int64_t next_expiry_wall_ms; /* no session that is over expires before */
	struct session_nodes nodes;
	int64_t epoch;         /* under which this process leads; 0: it does not */
	int64_t led_mono_ms;   /* since when */
};

#endif
