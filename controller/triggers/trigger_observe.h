/* Thresholds of ProfilingTriggers: lists the pods that they are about (in a thread of its own, by their selectors, each
 * TRIGGER_OBSERVE_LIST_MS and when triggers change), tells each node's agent what to observe, and fires triggers by what agents say.
 *
 * Only while this replica leads. A node is told again each TRIGGER_OBSERVE_CONFIRM_MS, when its agent links, and when its set has changed;
 * one whose set has become empty is told so once. An agent's word counts for containers that it was asked about only. */
#ifndef DRDOTNET_TRIGGER_OBSERVE_H
#define DRDOTNET_TRIGGER_OBSERVE_H

#include "controller/link/agent_hub.h"
#include "controller/kube/kube_config.h"
#include "controller/triggers/triggers.h"

#define TRIGGER_OBSERVE_LIST_MS 30000
#define TRIGGER_OBSERVE_CONFIRM_MS 40000
#define TRIGGER_OBSERVE_VALID_S 120
#define TRIGGER_OBSERVE_MAX 20000     /* containers in all; the rest is left out, counted and logged */

struct trigger_observe;

struct trigger_observe_options {
	const struct kube_config *kube;   /* outlives it */
	struct triggers *triggers;        /* the same */
	struct agent_hub *hub;            /* the same */
	struct events *events;            /* the same */
};

struct trigger_observe *trigger_observe_new(void);
int trigger_observe_start(struct trigger_observe *t, const struct trigger_observe_options *o, struct err *e);
void trigger_observe_stop(struct trigger_observe *t); /* ends the thread; before triggers_stop */
void trigger_observe_free(struct trigger_observe *t); /* NULL is taken */

/* Any thread, never block; also before the start and after the stop. */
void trigger_observe_lead(struct trigger_observe *t, bool leading);
void trigger_observe_changed(struct trigger_observe *t); /* the triggers, perhaps */
void trigger_observe_node(struct trigger_observe *t, const char *node); /* its agent has linked */
void trigger_observe_heard(struct trigger_observe *t, const char *node, const struct link_observed *items, size_t count);

#endif
