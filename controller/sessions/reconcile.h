/* Brings one session a step further: reads it from the cache, asks plan.h what to do, does it in an ordered list of named
 * steps, and writes the status once at the end. Called by worker threads, never twice at a time for one key. */
#ifndef DRDOTNET_RECONCILE_H
#define DRDOTNET_RECONCILE_H

#include "controller/sessions/admission.h"
#include "controller/link/agent_hub.h"
#include "controller/sessions/comparisons.h"
#include "controller/sessions/events.h"
#include "controller/sessions/orphans.h"
#include "controller/kube/kube_client.h"
#include "controller/store/object_store.h"
#include "controller/sessions/reveal_policy.h"
#include "controller/sessions/session_cache.h"
#include "controller/sessions/session_status.h"
#include "controller/sessions/starts.h"
#include "controller/base/work_queue.h"

/* All borrowed. */
struct reconciler {
	struct session_cache *cache;
	struct agent_hub *hub;
	struct work_queue *queue;
	struct orphans *orphans;
	struct admission *admission;
	struct reveal_policy *reveal_policy;
	struct events *events;
	session_report_url_fn *report_url; /* may be NULL */
	void *report_url_ctx;
	struct comparisons *comparisons;   /* may be NULL: nothing can be compared */
	struct starts *starts;
	bool no_starts;                    /* sessions that wait for a container to start are refused */
	const struct object_stores *stores; /* may be NULL: whether there is a store is seen when a report is to be put there */
};

/* `key` is a session's ("namespace/name") or an orphan's: its job is canceled, or forgotten when it has ended. ERR_CONFLICT: the object has changed,
 * the cache has it anew, come again. Other errors: come again after a back-off. */
int reconcile(struct reconciler *r, struct kube_client *kube, const char *key, struct err *e);

#endif
