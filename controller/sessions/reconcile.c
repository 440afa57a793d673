#include "controller/sessions/reconcile_private.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/step.h"
#include "controller/kube/kube_clock.h"
#include "controller/base/metrics.h"
#include "controller/sessions/session_counts.h"

#include <stdio.h>
#include <string.h>

void reconcile_wake_in(struct work *w, int64_t ms)
{
	if (ms < w->wake_ms)
		w->wake_ms = ms;
}

static struct kube_ref session_ref(const struct work *w, const char *subresource)
{
	return (struct kube_ref){.api = KUBE_SESSIONS, .plural = SESSION_PLURAL, .namespace = w->s.namespace, .name = w->s.name, .subresource = subresource};
}

static int delete_object(struct work *w, struct err *e)
{
	struct kube_ref ref = session_ref(w, NULL);
	struct err why = ERR_INIT;
	if (kube_delete(w->kube, &ref, w->s.uid, NULL, &why) < 0 && why.kind != ERR_NOT_FOUND && why.kind != ERR_CONFLICT) {
		*e = why;
		return -1;
	}
	session_cache_remove(w->r->cache, w->key, w->s.uid);
	metrics_count(METRIC_SESSIONS_EXPIRED, "ttl");
	return 0;
}

/* The API server's answer to a write of ours becomes what we know. */
static void update_from_response(struct work *w, const json_t *object)
{
	struct profiling_session fresh;
	struct err e = ERR_INIT;
	if (session_object_from_json(object, &fresh, &e) < 0) {
		LOG_WARN("reconcile", "answer not understood", LOG_S("session", w->key), LOG_S("error", e.message));
		return;
	}
	memcpy(w->s.resource_version, fresh.resource_version, sizeof w->s.resource_version);
	session_cache_update_take(w->r->cache, &fresh);
}

static int load(struct work *w, struct err *e)
{
	int64_t expires_wall_ms = 0;
	enum session_cache_kind kind = session_cache_get(w->r->cache, w->key, w->now_mono_ms, &w->s, &w->views, &expires_wall_ms);
	if (kind == SESSION_OVER && expires_wall_ms <= w->now_wall_ms && delete_object(w, e) < 0)
		return -1;
	w->over = w->gone = kind != SESSION_ACTIVE;
	if (w->over)
		return 0;
	struct agent_info info;
	for (size_t i = 0; i < w->s.pod_count; i++) /* whether it is linked is the cache's word: it goes with what was told in that link */
		w->views[i].too_old = w->views[i].linked && agent_hub_lookup(w->r->hub, w->s.pods[i].node, &info) && !reconcile_serves(w, &info);
	w->old_reason = w->s.conditions[CONDITION_SUCCEEDED].reason;
	return 0;
}

/* Without the shipped policy anybody could have written the requester's name, and nobody has checked the right to reveal. */
static int check_reveal_policy(struct work *w, struct err *e)
{
	bool in_force = false, asks = w->s.spec_valid && w->s.spec.reveal;
	if (!w->s.requested_by && !asks)
		return 0;
	if (reveal_policy_look(w->r->reveal_policy, w->kube, w->now_mono_ms, &in_force, e) < 0)
		return -1;
	if (in_force)
		return 0;
	free(steal_ptr(&w->s.requested_by));
	if (asks && w->plan.stage == PLAN_CHOOSE) {
		w->plan.stage = PLAN_END; /* nothing is to be chosen any more */
		session_status_end(&w->s, false, REASON_RevealNotEnforced,
				   "spec.reveal is set, and nothing has checked the right to it: the policy " REVEAL_POLICY_NAME " and its binding are not "
				   "in force on this API server", w->now_wall_ms);
	}
	return 0;
}

/* Nobody is profiled for a report that no store would take. */
static int check_store(struct work *w, struct err *e)
{
	struct err why = ERR_INIT;
	(void)e;
	if (w->plan.stage != PLAN_CHOOSE || !w->r->stores || object_stores_check(w->r->stores, w->s.spec.store, &why) == 0)
		return 0;
	w->plan.stage = PLAN_END; /* nothing is to be chosen any more */
	session_status_end(&w->s, false, REASON_StoreNotFound, why.message, w->now_wall_ms);
	return 0;
}

static int plan(struct work *w, struct err *e)
{
	(void)e;
	plan_make(&w->s, w->views, w->now_wall_ms, &w->plan);
	w->over = w->plan.stage == PLAN_IGNORE;
	if (w->plan.wake_wall_ms != INT64_MAX)
		reconcile_wake_in(w, w->plan.wake_wall_ms - w->now_wall_ms);
	return 0;
}

/* What it waited for, without until when. A new string. */
static char *waited_for(const struct condition *c)
{
	const char *until = strstr(c->message, RECONCILE_UNTIL);
	size_t said = until ? (size_t)(until - c->message) : strlen(c->message);
	return mem_printf("%.*s%s", (int)said, c->message, until ? until + strcspn(until, ".") : "");
}

static int end_session_early(struct work *w, struct err *e)
{
	(void)e;
	if (w->plan.stage == PLAN_REJECT) {
		session_status_end(&w->s, false, REASON_InvalidSpec, w->s.spec_error, w->now_wall_ms);
	} else if (w->plan.stage == PLAN_END) {
		const struct condition *last = &w->s.conditions[CONDITION_SUCCEEDED];
		bool waited = w->plan.reason == REASON_DeadlineExceeded && last->message && last->message[0];
		const char *reason = last->reason;
		AUTO_FREE char *what = waited ? waited_for(last) : NULL;
		AUTO_FREE char *message = waited ? mem_printf("%s %s: %s", w->plan.message, reason, what) : mem_strdup(w->plan.message);
		session_status_end(&w->s, true, w->plan.reason, message, w->now_wall_ms);
		if (waited) /* why it never ran tells whose fault that is: reason_fault() */
			session_status_set(&w->s, CONDITION_RUNNING, CONDITION_FALSE, reason, what, w->now_wall_ms);
	}
	return 0;
}

static int write_finalizers(struct work *w, bool ours, struct err *e)
{
	json_t *list = json_array();
	for (size_t i = 0; i < w->s.finalizer_count; i++) {
		if (strcmp(w->s.finalizers[i], SESSION_FINALIZER) != 0)
			json_array_append_new(list, json_string(w->s.finalizers[i]));
	}
	if (ours)
		json_array_append_new(list, json_string(SESSION_FINALIZER));
	AUTO_JSON json_t *patch = json_pack("{s:{s:s, s:s, s:o}}", "metadata", "uid", w->s.uid, "resourceVersion", w->s.resource_version, "finalizers", list);
	struct kube_ref ref = session_ref(w, NULL);
	AUTO_JSON json_t *answer = NULL;
	if (kube_patch(w->kube, &ref, KUBE_PATCH_MERGE, patch, &answer, e) < 0)
		return -1;
	if (!ours && session_object_deleting(&w->s))
		session_cache_remove(w->r->cache, w->key, w->s.uid);
	else
		update_from_response(w, answer);
	return 0;
}

/* From the first order on the object must not vanish before the profiler has left the process. */
static int ensure_finalizer(struct work *w, struct err *e)
{
	return w->assigned && !session_object_has_finalizer(&w->s) ? write_finalizers(w, true, e) : 0;
}

static int conclude_status(struct work *w, struct err *e)
{
	(void)e;
	if (w->comparing)
		return 0;
	bool ended = !session_object_unassigned(&w->s) && session_status_conclude(&w->s, w->now_wall_ms);
	if (ended && w->s.spec.start == START_NEXT_CONTAINER)
		reconcile_tell_readiness(w);
	if (ended)
		reconcile_tell_end(w);
	if (w->plan.stage != PLAN_FINISHED && session_object_completed(&w->s)) /* a session may be made with its finalizer, and end without a pod */
		ended |= session_object_has_finalizer(&w->s);
	if (ended && !session_object_deleting(&w->s))
		reconcile_wake_in(w, 0); /* the next turn releases the finalizer */
	return 0;
}

static int write_status(struct work *w, struct err *e)
{
	if (w->plan.stage == PLAN_FINISHED)
		return 0;
	json_t *status = session_status_to_json(&w->s, w->r->report_url, w->r->report_url_ctx);
	if (session_json_hash(status) == w->s.status_hash) {
		json_decref(status);
		return 0;
	}
	AUTO_JSON json_t *apply = session_status_apply(&w->s, status);
	struct kube_ref ref = session_ref(w, "status");
	AUTO_JSON json_t *answer = NULL;
	if (kube_patch(w->kube, &ref, KUBE_PATCH_APPLY, apply, &answer, e) < 0)
		return -1;
	update_from_response(w, answer);
	if (w->assigned)
		session_cache_assigned(w->r->cache, w->key);
	return 0;
}

static bool tells_nothing(const char *reason)
{
	return reason == REASON_Pending || reason == REASON_Preparing || reason == REASON_Analyzing || reason == REASON_Delivering;
}

static int record_session_events(struct work *w, struct err *e)
{
	(void)e;
	const struct condition *c = &w->s.conditions[CONDITION_SUCCEEDED];
	if (!w->r->events)
		return 0;
	for (size_t i = 0; w->assigned && i < w->s.pod_count; i++) {
		AUTO_FREE char *text = mem_printf("Pod %s on node %s was chosen%s%.253s.", w->s.pods[i].pod_name, w->s.pods[i].node,
						  w->s.requested_by ? "; requested by " : "", w->s.requested_by ? w->s.requested_by : "");
		events_record(w->r->events, &w->s, false, "PodChosen", text);
	}
	if (w->assigned && w->left_out)
		events_record(w->r->events, &w->s, false, "PodsLeftOut", w->left_out);
	if (!c->reason || c->reason == w->old_reason || tells_nothing(c->reason))
		return 0;
	bool good = c->status == CONDITION_TRUE || c->reason == REASON_Profiling || c->reason == REASON_Queued || c->reason == REASON_Canceled;
	events_record(w->r->events, &w->s, !good, c->reason, c->message ? c->message : c->reason);
	if (session_object_completed(&w->s))
		session_counts_ended(c->reason, w->s.conditions[CONDITION_RUNNING].reason);
	return 0;
}

/* Final states are in the API server now: their agents may drop the jobs. While the finalizer is still there, a leader before us may
 * have ended between its write and these words: they are said again. */
static int forget_agent_jobs(struct work *w, struct err *e)
{
	(void)e;
	bool again = w->plan.stage == PLAN_FINISHED && w->plan.release;
	for (size_t i = 0; i < w->s.pod_count; i++) {
		const struct session_pod *p = &w->s.pods[i];
		if (w->assigned || !job_phase_is_final(p->job.phase) || (w->views[i].stored_final && !again))
			continue;
		struct err why = ERR_INIT;
		if (w->plan.pods[i].action == POD_END && w->views[i].linked) /* given up by us, not by the agent */
			agent_hub_cancel(w->r->hub, p->node, p->job.job_id, &why);
		else if (agent_hub_forget(w->r->hub, p->node, p->job.job_id, &why) < 0)
			LOG_DEBUG("reconcile", "forget not sent", LOG_S("job", p->job.job_id), LOG_S("error", why.message));
	}
	return 0;
}

/* A deleted session is released once its profilers are out of the processes; its jobs may still be writing reports. What their agents said
 * until now was said of a session: they would wait for an answer. What they say from now on is said of none, see settle_orphan(). */
static void disown(struct work *w)
{
	for (size_t i = 0; i < w->s.pod_count; i++) {
		const struct session_pod *p = &w->s.pods[i];
		struct err why = ERR_INIT;
		if (p->node[0] && agent_hub_forget(w->r->hub, p->node, p->job.job_id, &why) < 0)
			LOG_DEBUG("reconcile", "forget not sent", LOG_S("job", p->job.job_id), LOG_S("error", why.message));
	}
}

static int release_finalizer(struct work *w, struct err *e)
{
	bool deleted = session_object_deleting(&w->s);
	if (!w->plan.release || !session_object_has_finalizer(&w->s))
		return 0;
	if (write_finalizers(w, false, e) < 0)
		return -1;
	if (deleted)
		disown(w);
	return 0;
}

static int expire(struct work *w, struct err *e)
{
	return w->plan.stage == PLAN_FINISHED && w->plan.expire ? delete_object(w, e) : 0;
}

static const struct reconcile_step {
	const char *name;
	int (*run)(struct work *w, struct err *e);
} steps[] = {
	{"load", load},
	{"plan", plan},
	{"end early", end_session_early},
	{"admit", check_reveal_policy},
	{"check store", check_store},
	{"check baseline", reconcile_check_baseline},
	{"choose pods", reconcile_choose},
	{"hold", ensure_finalizer},
	{"inspect pods", reconcile_inspect},
	{"learn ends", reconcile_learn_ends},
	{"compare", reconcile_compare},
	{"conclude", conclude_status},
	{"write status", write_status},
	{"order", reconcile_orders},
	{"tell", record_session_events},
	{"forget", forget_agent_jobs},
	{"release", release_finalizer},
	{"expire", expire},
};

/* Somebody else wrote meanwhile: what the API server has now replaces what we knew. */
static void reread_session(struct work *w)
{
	struct kube_ref ref = session_ref(w, NULL);
	struct err e = ERR_INIT;
	AUTO_JSON json_t *object = NULL;
	if (kube_get(w->kube, &ref, &object, &e) == 0)
		update_from_response(w, object);
	else if (e.kind == ERR_NOT_FOUND)
		session_cache_remove(w->r->cache, w->key, w->s.uid);
}

static int run_reconcile_steps(struct work *w, struct err *e)
{
	for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !w->over; i++) {
		struct err why = ERR_INIT;
		LOG_DEBUG("reconcile", steps[i].name, LOG_S("session", w->key));
		STEP(steps[i].name);
		if (steps[i].run(w, &why) == 0)
			continue;
		if (why.kind == ERR_CONFLICT || why.kind == ERR_NOT_FOUND)
			reread_session(w);
		*e = why;
		return err_prefix(e, "%s", steps[i].name);
	}
	return 0;
}

/* Is the session of this job there, unheard of by us, or its pods (our watch is behind)? Then it is known from now on: 1. 0: it is over or gone. */
static int look_for_session(struct reconciler *r, struct kube_client *kube, const struct orphan *o, struct err *e)
{
	char uid[40], key[SESSION_KEY_SIZE];
	size_t index;
	if (!o->name[0] || session_job_id_parse(o->job_id, uid, &index, NULL) < 0 || session_cache_knows(r->cache, uid))
		return 0;
	struct kube_ref ref = {.api = KUBE_SESSIONS, .plural = SESSION_PLURAL, .namespace = o->namespace, .name = o->name};
	AUTO_JSON json_t *object = NULL;
	struct profiling_session s;
	struct err why = ERR_INIT;
	if (kube_get(kube, &ref, &object, &why) < 0 || session_object_from_json(object, &s, &why) < 0) {
		if (why.kind == ERR_NOT_FOUND || why.kind == ERR_DENIED) /* the agent may name a namespace that is none of ours */
			return 0;
		*e = why;
		return -1;
	}
	if (strcmp(s.uid, uid) != 0) {
		session_object_fini(&s);
		return 0;
	}
	session_object_key(&s, key);
	session_cache_put_take(r->cache, &s);
	LOG_WARN("reconcile", "an agent has a job of a session that the watch has not told of", LOG_S("session", key));
	work_queue_add(r->queue, key);
	return 1;
}

static bool is_live(struct reconciler *r, const struct orphan *o)
{
	struct session_upload ignored;
	return session_cache_upload(r->cache, o->node, o->job_id, &ignored, NULL) == 0;
}

/* A job whose session is over or gone: it is ended, and when its profiler is out of the process, forgotten with its reports. */
static int settle_orphan(struct reconciler *r, struct kube_client *kube, const struct orphan *o, struct err *e)
{
	if (is_live(r, o))
		return 0; /* its session has turned up meanwhile */
	int there = look_for_session(r, kube, o, e);
	if (there < 0)
		return -1;
	if (there && is_live(r, o))
		return 0;
	session_cache_forget_early(r->cache, o->node, o->job_id);
	struct err why = ERR_INIT;
	int rc = o->no_profiler ? agent_hub_forget(r->hub, o->node, o->job_id, &why) : agent_hub_cancel(r->hub, o->node, o->job_id, &why);
	if (rc == 0 || why.kind == ERR_NOT_FOUND)
		return 0;
	*e = why;
	return -1;
}

static int reconcile_orphan(struct reconciler *r, struct kube_client *kube, const char *key, struct err *e)
{
	struct orphan *o = orphans_take(r->orphans, key);
	int rc = o ? settle_orphan(r, kube, o, e) : 0;
	if (rc < 0)
		orphans_give_back_take(r->orphans, o);
	else
		free(o);
	return rc;
}

/* Whatever became of this turn: what the session occupies now is what others cannot have. */
static void count_in_budgets(struct work *w)
{
	if (w->gone)
		admission_release(w->r->admission, w->key);
	else if (w->s.uid[0])
		admission_update(w->r->admission, w->key, &w->s);
	if (w->r->starts && (w->gone || !session_object_unassigned(&w->s) || session_object_completed(&w->s) || session_object_deleting(&w->s)))
		starts_forget(w->r->starts, w->r->hub, w->key);
}

int reconcile(struct reconciler *r, struct kube_client *kube, const char *key, struct err *e)
{
	if (orphans_is_key(key))
		return reconcile_orphan(r, kube, key, e);
	struct work w = {.r = r, .kube = kube, .key = key, .now_wall_ms = kube_clock_wall_ms(), .now_mono_ms = clock_mono_ms(), .wake_ms = INT64_MAX};
	int rc = run_reconcile_steps(&w, e);
	if (rc == 0 && w.wake_ms != INT64_MAX)
		work_queue_add_after(r->queue, key, w.wake_ms > 0 ? w.wake_ms : 0);
	count_in_budgets(&w);
	for (size_t i = 0; w.infos && i < w.s.pod_count; i++)
		pod_info_fini(&w.infos[i]);
	free(w.infos);
	free(w.left_out);
	free(w.views);
	session_object_fini(&w.s);
	return rc;
}
