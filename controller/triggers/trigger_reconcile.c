#include "controller/triggers/trigger_reconcile.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "controller/kube/kube_clock.h"
#include "controller/base/metrics.h"
#include "controller/triggers/trigger_status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFLICTS_MAX 8
#define CONFIRM_MS 1000 /* a session that was made: its own watch event comes sooner as a rule */
#define OTHERS_MS 2000  /* a Pending record that another replica wrote: it is at it now */

struct work {
	struct trigger_reconciler *r;
	const char *key;
	bool leading;
	struct trigger_load load;
	struct trigger_session_view *views;
	size_t view_count;
	struct trigger_status status; /* as it should be */
	int64_t now_wall_ms, now_mono_ms, wake_wall_ms;
	size_t entered;               /* firings that start a session in this turn */
	struct trigger_suppressed suppressed; /* with those of this turn */
	bool counted;                 /* they stand in `status` */
	struct trigger_wait scheduled; /* the schedule's own firing */
	bool is_scheduled;
};

static struct kube_ref trigger_ref_of(const struct profiling_trigger *t, const char *subresource)
{
	return (struct kube_ref){.api = KUBE_SESSIONS, .plural = TRIGGER_PLURAL, .namespace = t->namespace, .name = t->name, .subresource = subresource};
}

static void count_firing(const char *outcome)
{
	metrics_count(METRIC_TRIGGER_FIRINGS, outcome);
}

/* deciding ----------------------------------------------------------------------------------------------------------- */

static void set_outcome_of(struct trigger_outcome *o, enum trigger_verdict verdict, const char *reason, const char *session, const char *message)
{
	*o = (struct trigger_outcome){.verdict = verdict, .reason = reason};
	snprintf(o->session, sizeof o->session, "%s", session);
	snprintf(o->message, sizeof o->message, "%s", message);
}

static void decide_one(struct work *w, struct trigger_wait *wait)
{
	struct trigger_decision d;
	trigger_plan_fire(w->load.object, &w->status, &wait->firing, w->now_wall_ms, &d);
	if (d.fire) {
		trigger_plan_enter(w->load.object, &w->status, &wait->firing, &d, w->now_wall_ms);
		set_outcome_of(&wait->outcome, TRIGGER_TRY_AGAIN, TRIGGER_REASON_Fired, d.session, "the session is about to be made");
		w->entered++;
		return;
	}
	bool duplicate = d.reason == TRIGGER_REASON_Duplicate;
	set_outcome_of(&wait->outcome, TRIGGER_SUPPRESSED, d.reason, duplicate ? d.session : "", d.message);
	if (duplicate)
		return;
	w->suppressed.count++;
	w->suppressed.wall_ms = w->now_wall_ms;
	w->suppressed.reason = d.reason;
	memcpy(w->suppressed.message, d.message, sizeof d.message);
}

static void decide_schedule(struct work *w)
{
	static const char message[] = "the schedule's time has come";
	int64_t due = w->leading ? trigger_plan_due(w->load.object, &w->status, w->now_wall_ms) : 0;
	w->is_scheduled = due != 0;
	if (!due)
		return;
	char dedup[CLOCK_RFC3339_SIZE];
	w->scheduled = (struct trigger_wait){
		.firing = {.source = TRIGGER_SCHEDULE, .dedup = clock_rfc3339(due, dedup), .message = message},
		.since_mono_ms = w->now_mono_ms,
	};
	decide_one(w, &w->scheduled);
	w->scheduled.firing.dedup = NULL;
}

/* Counts that alone are not worth a write are kept for a while. */
static void decide_counts(struct work *w)
{
	const struct trigger_suppressed *s = &w->suppressed;
	const char *last = w->status.last_suppressed_reason;
	bool news = s->count && (!last || strcmp(last, s->reason) != 0);
	bool late = !w->load.flushed_mono_ms || w->now_mono_ms - w->load.flushed_mono_ms >= TRIGGER_FLUSH_MS;
	w->counted = s->count && (w->entered || news || late);
	if (w->counted)
		trigger_plan_suppressed(&w->status, s->reason, s->count, s->wall_ms);
}

/* From the object as it is known now; may be repeated. */
static void decide_trigger(struct work *w)
{
	trigger_status_fini(&w->status);
	trigger_status_copy(&w->status, &w->load.object->status);
	w->now_wall_ms = kube_clock_wall_ms();
	w->now_mono_ms = clock_mono_ms();
	w->entered = 0;
	w->suppressed = w->load.suppressed;
	trigger_plan_settle(w->load.object, &w->status, w->views, w->view_count, w->load.notes, w->now_wall_ms);
	decide_schedule(w);
	for (struct trigger_wait *wait = w->load.waits; wait; wait = wait->next)
		decide_one(w, wait);
	decide_counts(w);
	w->wake_wall_ms = trigger_plan_conclude(w->load.object, &w->status, w->now_wall_ms);
}

/* writing ------------------------------------------------------------------------------------------------------------ */

static int update_trigger_from_response(struct work *w, const json_t *object, struct err *e)
{
	struct profiling_trigger *fresh = trigger_object_from_json(object, e);
	if (!fresh)
		return -1;
	bool other = strcmp(fresh->uid, w->load.object->uid) != 0;
	if (!other) {
		trigger_unref(w->load.object);
		w->load.object = trigger_ref(fresh);
	}
	trigger_table_put_take(w->r->table, fresh);
	if (!other)
		return 0;
	work_queue_add(w->r->queue, w->key); /* the watch tells us nothing new of it */
	return err_set(e, ERR_GONE, 0, "the trigger was deleted and made anew");
}

static bool is_worth_writing(const struct work *w, const json_t *status)
{
	if (session_json_hash(status) == w->load.object->status.hash)
		return false;
	return w->leading || w->entered || w->counted || w->load.notes;
}

static int write_once(struct work *w, struct err *e)
{
	json_t *status = trigger_status_to_json(w->load.object, &w->status);
	if (!is_worth_writing(w, status)) {
		json_decref(status);
		return 0;
	}
	AUTO_JSON json_t *apply = trigger_status_apply(w->load.object, status);
	AUTO_JSON json_t *answer = NULL;
	struct kube_ref ref = trigger_ref_of(w->load.object, "status");
	if (kube_patch(w->r->kube, &ref, KUBE_PATCH_APPLY, apply, &answer, e) < 0)
		return -1;
	return update_trigger_from_response(w, answer, e);
}

static int reread_trigger(struct work *w, struct err *e)
{
	AUTO_JSON json_t *object = NULL;
	struct kube_ref ref = trigger_ref_of(w->load.object, NULL);
	if (kube_get(w->r->kube, &ref, &object, e) == 0)
		return update_trigger_from_response(w, object, e);
	if (e->kind == ERR_NOT_FOUND)
		trigger_table_remove(w->r->table, w->key, w->load.object->uid);
	return -1;
}

/* The decision becomes true by being written on top of what it was made from. */
static int commit(struct work *w, struct err *e)
{
	for (int i = 0;; i++) {
		struct err why = ERR_INIT;
		decide_trigger(w);
		if (write_once(w, &why) == 0)
			return 0;
		if (why.kind != ERR_CONFLICT || i == CONFLICTS_MAX) {
			*e = why;
			return err_prefix(e, "writing the status");
		}
		metrics_count(METRIC_TRIGGER_CONFLICTS, "status");
		if (reread_trigger(w, e) < 0)
			return -1;
	}
}

/* sessions ------------------------------------------------------------------------------------------------------------ */

static struct trigger_wait *wait_of(struct work *w, const char *session)
{
	for (struct trigger_wait *wait = w->load.waits; wait; wait = wait->next) {
		if (wait->outcome.reason == TRIGGER_REASON_Fired && strcmp(wait->outcome.session, session) == 0)
			return wait;
	}
	return w->is_scheduled && strcmp(w->scheduled.outcome.session, session) == 0 ? &w->scheduled : NULL;
}

static void tell_event(struct work *w, bool warning, const char *reason, const char *message)
{
	const struct profiling_trigger *t = w->load.object;
	struct event_subject subject = {TRIGGER_KIND, t->namespace, t->name, t->uid};
	if (w->r->events)
		events_record_about(w->r->events, &subject, warning, reason, message);
}

static void tell_fired(struct work *w, const struct trigger_record *r)
{
	char text[ERR_MESSAGE_SIZE];
	snprintf(text, sizeof text, "Session %s was started%s%.253s: %.100s", r->session, r->pod_name ? " on pod " : "", r->pod_name ? r->pod_name : "",
		 r->message ? r->message : "");
	tell_event(w, false, TRIGGER_REASON_Fired, text);
	LOG_INFO("triggers", "fired", LOG_S("trigger", w->key), LOG_S("session", r->session));
}

static void made(struct work *w, const struct trigger_record *r, struct trigger_wait *wait, bool fresh)
{
	trigger_table_note(w->r->table, w->key, TRIGGER_NOTE_CREATED, r->session, NULL);
	work_queue_add_after(w->r->queue, w->key, CONFIRM_MS);
	if (fresh)
		tell_fired(w, r);
	if (!wait)
		return;
	set_outcome_of(&wait->outcome, TRIGGER_FIRED, TRIGGER_REASON_Fired, r->session, "the session was made");
	metrics_observe_ms(METRIC_TRIGGER_FIRE_TIME, clock_mono_ms() - wait->since_mono_ms);
}

static void rejected(struct work *w, const struct trigger_record *r, struct trigger_wait *wait, const char *why)
{
	trigger_table_note(w->r->table, w->key, TRIGGER_NOTE_REJECTED, r->session, why);
	work_queue_add(w->r->queue, w->key);
	tell_event(w, true, TRIGGER_REASON_SessionRejected, why);
	LOG_WARN("triggers", "no session", LOG_S("trigger", w->key), LOG_S("error", why));
	if (wait)
		set_outcome_of(&wait->outcome, TRIGGER_REFUSED, TRIGGER_REASON_SessionRejected, "", why);
}

static bool is_final(const struct err *e)
{
	return e->kind == ERR_INVALID || e->kind == ERR_DENIED || e->kind == ERR_NOT_FOUND;
}

static int make_session(struct work *w, const struct trigger_record *r, struct err *e)
{
	const struct profiling_trigger *t = w->load.object;
	struct trigger_wait *wait = wait_of(w, r->session);
	struct kube_ref ref = {.api = KUBE_SESSIONS, .plural = SESSION_PLURAL, .namespace = t->namespace};
	AUTO_JSON json_t *body = trigger_status_session(t, r);
	struct err why = ERR_INIT;
	int rc = body ? kube_create(w->r->kube, &ref, body, NULL, &why) : err_set(&why, ERR_INVALID, 0, "the template cannot be read");
	if (rc == 0 || why.kind == ERR_CONFLICT) { /* there already: a replica made it, or we did and did not hear of it */
		made(w, r, wait, rc == 0);
		return 0;
	}
	if (is_final(&why) || w->now_wall_ms - r->wall_ms > TRIGGER_LATE_MS) {
		rejected(w, r, wait, why.message);
		return 0;
	}
	if (wait)
		set_outcome_of(&wait->outcome, TRIGGER_TRY_AGAIN, TRIGGER_REASON_Unreachable, r->session, why.message);
	*e = why;
	return err_prefix(e, "making session %s", r->session);
}

/* Is it ours to make? Our own, and for the leader what another replica has left behind. */
static bool is_our_record(struct work *w, const struct trigger_record *r)
{
	if (r->phase != TRIGGER_PENDING)
		return false;
	int64_t age_ms = w->now_wall_ms - r->wall_ms;
	if (wait_of(w, r->session) || (w->leading && age_ms >= OTHERS_MS))
		return true;
	if (w->leading)
		work_queue_add_after(w->r->queue, w->key, age_ms > 0 ? OTHERS_MS - age_ms : OTHERS_MS);
	return false;
}

static int make_sessions(struct work *w, struct err *e)
{
	const struct trigger_status *st = &w->load.object->status;
	int rc = 0;
	for (size_t i = 0; w->load.object->spec_valid && i < st->record_count; i++) {
		const struct trigger_record *r = &st->records[i];
		struct err why = ERR_INIT;
		if (is_our_record(w, r) && make_session(w, r, &why) < 0) {
			*e = why;
			rc = -1;
		}
	}
	return rc;
}

/* afterwards ---------------------------------------------------------------------------------------------------------- */

static int remove_history(struct work *w, struct err *e)
{
	size_t *beyond = mem_calloc(w->view_count ? w->view_count : 1, sizeof *beyond);
	size_t count = w->leading ? trigger_plan_history(w->load.object, w->views, w->view_count, beyond) : 0;
	int rc = 0;
	for (size_t i = 0; i < count && rc == 0; i++) {
		const struct trigger_session_view *v = &w->views[beyond[i]];
		struct kube_ref ref = {.api = KUBE_SESSIONS, .plural = SESSION_PLURAL, .namespace = w->load.object->namespace, .name = v->name};
		struct err why = ERR_INIT;
		if (kube_delete(w->r->kube, &ref, v->uid, NULL, &why) == 0)
			metrics_count(METRIC_SESSIONS_EXPIRED, "history");
		else if (why.kind != ERR_NOT_FOUND && why.kind != ERR_CONFLICT) {
			*e = why;
			rc = err_prefix(e, "removing session %s", v->name);
		}
	}
	free(beyond);
	return rc;
}

/* A flood makes counts, not events. */
static void tell_suppressed(struct work *w)
{
	const struct trigger_suppressed *s = &w->suppressed;
	if (s->reason == w->load.told_reason && w->load.told_mono_ms && w->now_mono_ms - w->load.told_mono_ms < TRIGGER_TELL_MS)
		return;
	char text[ERR_MESSAGE_SIZE + 160];
	snprintf(text, sizeof text, "%s: %s. %s", s->reason, s->message, trigger_reason_remedy(s->reason));
	tell_event(w, trigger_plan_is_limit(s->reason) || s->reason == TRIGGER_REASON_NoTarget, "Suppressed", text);
	LOG_INFO("triggers", "suppressed", LOG_S("trigger", w->key), LOG_S("reason", s->reason));
	w->load.told_reason = s->reason;
	w->load.told_mono_ms = w->now_mono_ms;
}

/* What was written is done; what was not is given back by trigger_table_done(). */
static void settle_counts(struct work *w)
{
	if (w->counted) {
		w->load.flushed_mono_ms = w->now_mono_ms;
		tell_suppressed(w);
		w->suppressed = (struct trigger_suppressed){0};
	} else if (w->suppressed.count) {
		work_queue_add_after(w->r->queue, w->key, TRIGGER_FLUSH_MS - (w->now_mono_ms - w->load.flushed_mono_ms));
	}
	w->load.suppressed = w->suppressed;
	trigger_notes_free(w->load.notes);
	w->load.notes = NULL;
}

static void schedule_wake(const struct work *w)
{
	int64_t ms = w->wake_wall_ms - w->now_wall_ms;
	if (w->leading && w->wake_wall_ms != INT64_MAX)
		work_queue_add_after(w->r->queue, w->key, ms > 0 ? ms : 0);
}

/* Nothing was written: nothing has happened. */
static void withdraw(struct work *w, const struct err *why)
{
	bool gone = why->kind == ERR_NOT_FOUND || why->kind == ERR_GONE;
	for (struct trigger_wait *wait = w->load.waits; wait; wait = wait->next)
		set_outcome_of(&wait->outcome, gone ? TRIGGER_REFUSED : TRIGGER_TRY_AGAIN, gone ? TRIGGER_REASON_TriggerDeleted : TRIGGER_REASON_Unreachable,
			       "", why->message);
}

static void count_outcomes(const struct work *w)
{
	for (const struct trigger_wait *wait = w->load.waits; wait; wait = wait->next)
		count_firing(wait->outcome.reason);
	if (w->is_scheduled)
		count_firing(w->scheduled.outcome.reason);
}

static int run_trigger_work(struct work *w, struct err *e)
{
	struct err why = ERR_INIT;
	if (commit(w, &why) < 0) {
		withdraw(w, &why);
		*e = why;
		return why.kind == ERR_NOT_FOUND || why.kind == ERR_GONE ? 0 : -1;
	}
	settle_counts(w);
	int made_all = make_sessions(w, &why);
	count_outcomes(w);
	schedule_wake(w);
	if (made_all < 0 || remove_history(w, &why) < 0) {
		*e = why;
		return -1;
	}
	return 0;
}

int trigger_reconcile(struct trigger_reconciler *r, const char *key, bool leading, struct err *e)
{
	struct work w = {.r = r, .key = key, .leading = leading};
	if (!trigger_table_take(r->table, key, &w.load))
		return 0;
	int rc = 0;
	w.views = trigger_sessions_of(r->sessions, w.load.object->uid, &w.view_count);
	if (leading || w.load.waits || w.load.suppressed.count || w.load.notes)
		rc = run_trigger_work(&w, e);
	trigger_sessions_views_free(w.views, w.view_count);
	trigger_status_fini(&w.status);
	trigger_table_done(r->table, key, &w.load);
	return rc;
}
