/* The nodes whose agents this process has heard of: since when each is linked or not, whether its agent has told of all its jobs, and what it told of
 * jobs whose session is not known here (yet): the watch may be behind the agents. Private to the cache, under its lock. */
#ifndef DRDOTNET_SESSION_NODES_H
#define DRDOTNET_SESSION_NODES_H

#include "common/base/hash.h"
#include "common/link/link_msg.h"

/* The state of a job that no session has taken. */
struct session_early_job {
	struct link_job job;
	UT_hash_handle hh;
};

struct session_node {
	char *name;
	bool linked;
	bool says_complete;     /* its agent says when it has told of all its jobs */
	int64_t since_ms;       /* when the link came up or was lost; monotonic */
	int64_t complete_epoch; /* the leader that was told of all of them, in this link; 0: none */
	struct session_early_job *early; /* at most LINK_MAX_JOBS, as many as an agent has; the oldest word first */
	UT_hash_handle hh;
};

struct session_nodes {
	struct session_node *by_name;
};

void session_nodes_fini(struct session_nodes *n);

/* NULL: its agent was not linked since this process began, or is away for longer than PLAN_RETURN_MS. */
struct session_node *session_nodes_find(const struct session_nodes *n, const char *name);

/* The link came up or went down: what was said in the old one counts no more. false: that is known already. */
bool session_nodes_link(struct session_nodes *n, const char *name, bool linked, bool says_complete, int64_t now_ms);

/* Keeps the newest word of a job; where the node has too many, the oldest goes. A node that is not linked has no say. */
void session_nodes_keep(struct session_nodes *n, const char *name, const struct link_job *job);

/* The word of a job, the caller's to link_job_fini(): true. */
bool session_nodes_take(struct session_nodes *n, const char *name, const char *job_id, struct link_job *out);

#endif
