/* ProfilingTriggers: watches them, takes firings from their sources (the Alertmanager webhook, thresholds that agents see, its
 * own schedules), decides by trigger_plan.h, and makes the sessions. One worker thread with a connection of its own.
 *
 * Every replica acts on the firings that reach it, leader or not, so that none is lost while nobody leads or a notification
 * reaches the standby. What keeps replicas from firing twice or past a limit is the API server: the decision is written into
 * the trigger's status first, bound to the resourceVersion that it was made from (a conflict means: read and decide again), and
 * the session's name is made of the trigger's uid and the firing's dedup key, so that making it again is no harm. A replica that
 * ends between the two leaves a record that the leader completes. Schedules, history and the status are the leader's work. */
#ifndef DRDOTNET_TRIGGERS_H
#define DRDOTNET_TRIGGERS_H

#include "controller/sessions/events.h"
#include "controller/triggers/trigger_table.h"

struct triggers;

struct triggers_options {
	const struct kube_config *kube;   /* outlives it */
	int64_t watch_stall_ms;           /* see kube_watch.h; 0: its default */
	void (*on_change)(void *ctx);     /* triggers_revision may be another one; NULL: nobody cares. Any thread; must not block */
	void *ctx;
};

struct triggers *triggers_new(const struct triggers_options *o);
void triggers_free(struct triggers *t); /* after triggers_stop; NULL is taken */

/* Watches a namespace (NULL: all). Called for each before triggers_start. */
int triggers_watch(struct triggers *t, const char *namespace, struct err *e);
int triggers_start(struct triggers *t, struct events *events, struct err *e); /* the events outlive triggers_stop */
void triggers_stop(struct triggers *t); /* firings that wait get TRIGGER_TRY_AGAIN */

/* Have all watches listed once? Before, a trigger that is not known may be there all the same. Any thread. */
bool triggers_synced(struct triggers *t);

/* Takes a firing (all of it is copied): decides what can be decided at once (a repetition, a cool-down), queues the rest; never
 * blocks. Any thread. ERR_NOT_FOUND: no such trigger, or not of this source; ERR_RETRY: not synced yet
 * (`done` is not called). `done` may be NULL. */
int triggers_fire(struct triggers *t, const struct trigger_firing *f, trigger_outcome_fn *done, void *ctx, struct err *e);

/* The same, and waits for the outcome: for threads that may block. After `timeout_ms` it is TRIGGER_TRY_AGAIN (the firing goes on;
 * its repetition finds what became of it). */
int triggers_fire_wait(struct triggers *t, const struct trigger_firing *f, int64_t timeout_ms, struct trigger_outcome *out, struct err *e);

/* The triggers of a source that are valid and not suspended (those of a namespace; NULL: all), each to be unref'd, in a new array.
 * Any thread. */
struct profiling_trigger **triggers_of_source(struct triggers *t, enum trigger_source source, const char *namespace, size_t *count);

/* Changes whenever the result of triggers_of_source may have: cheap to ask each second. Any thread. */
uint64_t triggers_revision(struct triggers *t);

/* From the sessions' watch: what has become of triggers' sessions. */
void triggers_sessions_list_begin(struct triggers *t, const char *namespace);
void triggers_sessions_list_end(struct triggers *t, const char *namespace);
void triggers_session(struct triggers *t, bool deleted, const json_t *object);

void triggers_lead(struct triggers *t, bool leading); /* any thread */
void triggers_tick(struct triggers *t);               /* each few seconds: has the clock been set? */
void triggers_measure(struct triggers *t);            /* sets its gauges; any thread */

#endif
