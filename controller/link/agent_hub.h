/* The seam between the reconciler and the agents' links. The link server (its own thread) owns the connections; the
 * reconciler (another thread) gives orders and learns of changes through the callbacks. All functions below are safe from
 * any thread and never block on the network: orders go into a bounded mailbox per agent. */
#ifndef DRDOTNET_AGENT_HUB_H
#define DRDOTNET_AGENT_HUB_H

#include "common/base/err.h"
#include "common/link/link_msg.h"

struct agent_hub;

struct agent_hub_callbacks {
	void *ctx;
	/* All are called in the link thread, with no lock held; they must only queue. */
	void (*on_job)(void *ctx, const char *node, const struct link_job *job);       /* each state that an agent reports */
	/* The agent has said that it told the leader of this epoch of all its jobs. May be NULL. */
	void (*on_jobs_complete)(void *ctx, const char *node, int64_t epoch);
	/* Link up (after each hello) or down; a link that replaces another one takes the node down first. */
	void (*on_node)(void *ctx, const char *node, bool linked, int64_t highest_epoch);
	/* What an agent says of the pods that it was asked to observe; only of its own node's word. May be NULL. */
	void (*on_observed)(void *ctx, const char *node, const struct link_observed *items, size_t count);
	/* A container of this pod has started on this node, by the agent's word. May be NULL. */
	void (*on_started)(void *ctx, const char *node, const char *pod_uid, const char *container_id);
	/* An agent's answer to LINK_MSG_PROCESS_QUERY. May be NULL. */
	void (*on_processes)(void *ctx, const char *node, const struct link_processes *answer);
	/* May this job's report be uploaded, and whose is it? Called in the review thread (may block on the API server). 0: allowed, fills store
	 * and the object's key prefix "<namespace>/<session name>-<uid8>/<pod>/"; -1: denied. */
	int (*on_upload)(void *ctx, const char *node, const char *job_id, const struct link_report *r, char store[64], char key_prefix[512], struct err *e);
};

/* Linked right now (after hello), and what it can do. */
struct agent_info {
	char version[32], mode[16];
	bool perf_events, process_queries, pod_starts, jobs_complete;
	unsigned profilers; /* that it serves: 1 << enum profiler_kind */
	int64_t highest_epoch;
};
bool agent_hub_lookup(struct agent_hub *h, const char *node, struct agent_info *out);

/* Queues a message for the node's agent. The hub adds the current epoch. ERR_NOT_FOUND (NodeWithoutAgent) when it is not linked,
 * ERR_RETRY when its mailbox is full. */
int agent_hub_order(struct agent_hub *h, const char *node, const struct link_order *o, struct err *e);
int agent_hub_cancel(struct agent_hub *h, const char *node, const char *job_id, struct err *e);
int agent_hub_forget(struct agent_hub *h, const char *node, const char *job_id, struct err *e);
/* The node's whole set (<= LINK_MAX_OBSERVATIONS), in place of the last one; the agent forgets it when it is not said again for valid_seconds. */
int agent_hub_observe(struct agent_hub *h, const char *node, const struct link_observation *items, size_t count, int64_t valid_seconds, struct err *e);

/* A pod whose next container a session waits for, and the node that it is bound to. */
struct awaited_pod {
	char node[254];
	struct link_awaited_pod pod;
};

/* Tells the agent of a node, or all that can (NULL), which of their own node's pods are waited for, for so long; 0 seconds: no more. `pods` is sorted by
 * `node`. Returns how many agents were told. */
size_t agent_hub_await_starts(struct agent_hub *h, const char *node, int64_t valid_seconds, const struct awaited_pod *pods, size_t count);

/* A message that needs no leadership. */
int agent_hub_send(struct agent_hub *h, const char *node, const struct link_msg *m, struct err *e);

/* Asks the nodes' agents for pods' usage; waits (the reconciler's thread) at most until the monotonic deadline. `pods` has uid and
 * is filled; unknown ones stay -1. nodes[i] is the node of pods[i]. */
void agent_hub_usage(struct agent_hub *h, const char *const *nodes, struct link_pod_usage *pods, size_t count, int64_t window_ms, int64_t deadline_ms);

/* Leadership. epoch 0: not the leader (orders are refused, agents stay linked). A new epoch is announced to all agents. */
void agent_hub_set_epoch(struct agent_hub *h, int64_t epoch);

/* The highest epoch that any linked agent has reported and that is not above `most`: who lies hides the others' word with nothing. */
int64_t agent_hub_highest_epoch(struct agent_hub *h, int64_t most);

size_t agent_hub_count(struct agent_hub *h);

#endif
