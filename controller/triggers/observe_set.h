/* What is to be observed on which node: made anew from threshold triggers and their pods, then asked by the words of agents. Pure; one thread. */
#ifndef DRDOTNET_OBSERVE_SET_H
#define DRDOTNET_OBSERVE_SET_H

#include "common/base/hash.h"
#include "common/base/jsonx.h"
#include "common/link/link_observation.h"
#include "controller/triggers/trigger_object.h"

#define OBSERVE_KEY_SIZE (40 + 40 + 64)
#define OBSERVE_MESSAGE_SIZE 256

struct observe_node;

struct observe_entry {
	char key[OBSERVE_KEY_SIZE]; /* "<trigger's uid>/<pod's uid>/<container>" */
	struct link_observation what;
	struct profiling_trigger *trigger; /* counted */
	char *pod_name;
	struct observe_node *node;
	struct observe_entry *next; /* of the node */
	bool no_limit_said;
	unsigned unseen;         /* how often its agent has said that it finds no control group of it */
	UT_hash_handle hh;
};

struct observe_node {
	char *name;
	struct observe_entry *entries;
	size_t count;
	uint64_t hash;       /* of what is to be observed; 0: nothing */
	bool told;           /* the agent has been told something ... */
	uint64_t told_hash;  /* ... of this hash ... */
	int64_t told_mono_ms; /* ... at this time */
	UT_hash_handle hh;
};

struct observe_set {
	struct observe_entry *entries;
	struct observe_node *nodes;
	size_t max_entries, left_out; /* containers that there was no room for */
};

void observe_set_fini(struct observe_set *s);

/* The containers of this pod, as the API server shows it, that the threshold trigger is about. A container without the request that
 * per cent are taken of is left out; one without the limit is not: its group may have one. */
void observe_set_add_pod(struct observe_set *s, struct profiling_trigger *trigger, const json_t *pod);

/* What is known of the nodes goes on from `old`, and nodes that have nothing to observe any more are kept until they are told. */
void observe_set_carry(struct observe_set *s, const struct observe_set *old);

/* Must this node's agent be told (again)? */
bool observe_set_is_due(const struct observe_node *n, int64_t now_mono_ms, int64_t confirm_ms);

/* The node's set into a new array of n->count. */
struct link_observation *observe_set_items(const struct observe_node *n);

/* What a node speaks of; NULL: it was not asked about that. */
struct observe_entry *observe_set_find(struct observe_set *s, const char *node, const struct link_observed *o);

/* "container app of pod checkout-1 uses 950m of 1000m CPU: above 80% for 60 s" */
void observe_set_message(const struct observe_entry *e, const struct link_observed *o, char out[OBSERVE_MESSAGE_SIZE]);

#endif
