/* Who may be profiled now, and who waits at which place: the budgets of the installation and of its nodes, shared fairly. Pure: no lock, no time,
 * no I/O; one thread at a time (admission.h).
 *
 * A session asks first for as many pods as it wants at most, then names the nodes of those that it has chosen. Namespaces take turns: the one
 * with the fewest pods in use comes next (max-min fairness, as of fair queueing); within a namespace the higher priority, then the older session.
 * Who waits for the installation's budget lets nobody past, so that a session of many pods gets its turn; who waits for a node lets others past,
 * but not onto that node. Long sessions (BUDGET_LONG_SECONDS) have all places of a node but one: who holds them does so for an hour, and the last one is
 * free again in a moment. */
#ifndef DRDOTNET_BUDGET_H
#define DRDOTNET_BUDGET_H

#include "common/base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUDGET_LONG_SECONDS 120 /* a session of more is long */

struct budget_limits {
	int64_t max_pods;          /* profiled at once */
	int64_t max_pods_per_node; /* of one node */
	int64_t max_jobs_per_node; /* the same, with those whose reports are still on their way */
};

struct budget_request {
	const char *key, *namespace;
	int priority;              /* higher first */
	int64_t created_ms;        /* older first */
	size_t want;               /* pods, 1.. */
	bool is_long;
};

/* What a session occupies: `running` pods, then `kept` jobs whose profiler is out of its process already. nodes[running + kept]. */
struct budget_hold {
	const char *const *nodes;
	size_t running, kept;
};

struct budget_place {
	bool granted;
	size_t place, of;          /* 1..; 0: not counted yet */
	const char *node;          /* it waits for this one; NULL: for the installation. Valid until the next call. */
	bool kept_for_short;       /* that node has a place, which is not for a long session */
};

struct budget_session;
struct budget_namespace;
struct budget_node;

struct budget {
	struct budget_limits limits;
	struct budget_session *sessions;
	struct budget_namespace *namespaces;
	struct budget_node *nodes;
	int64_t used;
	size_t waiting;
	uint64_t turn;
};

void budget_init(struct budget *b, const struct budget_limits *limits);
void budget_fini(struct budget *b);

/* Puts the session into the queue, unless it is known. It is granted by budget_grant. */
void budget_ask(struct budget *b, const struct budget_request *r);

/* The pods of a granted session: true when their nodes have room, and they occupy it from now on. False: it waits for them. */
bool budget_choose(struct budget *b, const char *key, const char *const *nodes, size_t count);

/* What a session occupies, whatever the limits say: it has its orders. Known or not. */
void budget_hold(struct budget *b, const struct budget_request *r, const struct budget_hold *h);

/* It neither waits nor occupies anything. */
void budget_release(struct budget *b, const char *key);

/* Grants what can be granted and tells of each. The callback must not call back. */
typedef void budget_key_fn(void *ctx, const char *key);
void budget_grant(struct budget *b, budget_key_fn *fn, void *ctx);

/* Counts the places of all that wait. */
void budget_count_places(struct budget *b);

/* false: not known. */
bool budget_look(const struct budget *b, const char *key, struct budget_place *out);

void budget_each(const struct budget *b, budget_key_fn *fn, void *ctx);

#endif
