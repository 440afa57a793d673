/* Brings one trigger a step further: settles its records, decides the firings that wait and the schedule, writes the status once,
 * makes the sessions that the status now speaks of, and removes history. Called by the one worker thread.
 *
 * The order is what makes it safe to end anywhere: before the write nothing has happened and the source repeats its firing; after it
 * any replica finds the Pending record and makes the session, whose name is the same for all. */
#ifndef DRDOTNET_TRIGGER_RECONCILE_H
#define DRDOTNET_TRIGGER_RECONCILE_H

#include "controller/sessions/events.h"
#include "controller/triggers/trigger_sessions.h"
#include "controller/triggers/trigger_table.h"
#include "controller/base/work_queue.h"

#define TRIGGER_FLUSH_MS 10000   /* between writes that only count suppressed firings */
#define TRIGGER_TELL_MS 600000   /* between events of the same reason about them */
#define TRIGGER_LATE_MS 600000   /* a session that could not be made for so long is given up */

/* All borrowed. */
struct trigger_reconciler {
	struct kube_client *kube;
	struct trigger_table *table;
	struct trigger_sessions *sessions;
	struct work_queue *queue;
	struct events *events;
};

/* `leading`: schedules, history and the status as such are ours. -1: come again after a back-off. */
int trigger_reconcile(struct trigger_reconciler *r, const char *key, bool leading, struct err *e);

#endif
