/* The steps of a reconcile that deal with pods and their agents: choosing, looking after, ordering. */
#include "controller/sessions/reconcile_private.h"

#include "common/api/reason.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/size_text.h"
#include "common/base/text.h"
#include "controller/base/metrics.h"
#include "controller/sessions/session_cache_each.h"

#include <stdio.h>
#include <string.h>

#define USAGE_WINDOW_MS 100
#define USAGE_BOUND_MS 200 /* choosing must not eat the time to the first sample */

/* Its turn comes by the budget, not by time. An empty text leaves the status as it is. */
static int wait_in_queue(struct work *w, const struct buf *why)
{
	if (why->len)
		session_status_wait(&w->s, REASON_Queued, buf_str(why), w->now_wall_ms);
	return 0;
}

/* Who has no pod to profile is in nobody's way meanwhile. */
static int wait_for_pods(struct work *w, const char *reason, const char *message)
{
	char until[CLOCK_RFC3339_SIZE];
	AUTO_FREE char *text = mem_printf("%s" RECONCILE_UNTIL "%s", message, clock_rfc3339(plan_deadline_ms(&w->s), until));
	admission_release(w->r->admission, w->key);
	session_status_wait(&w->s, reason, text, w->now_wall_ms);
	reconcile_wake_in(w, plan_retry_ms(&w->s, w->now_wall_ms));
	return 0;
}

/* Nothing will come of waiting: the pod has ended, or it is the one that a trigger's source has seen and that is not there any more. */
static bool is_hopeless(const struct work *w, const char *reason)
{
	return reason == REASON_PodGone || (reason == REASON_PodNotFound && w->s.of_trigger);
}

/* "3 pods match app=a, but 1 is not running and 2 are not ready": a new string */
static char *say_excluded(const struct pod_list *l, const char *selector)
{
	const size_t counts[] = {l->excluded_not_running, l->excluded_not_ready};
	static const char *const states[] = {"not running", "not ready"};
	AUTO_BUF struct buf text;
	buf_init(&text, 1024);
	buf_printf(&text, "%zu %s %.200s, but ", l->matched, size_text_plural((double)l->matched, "pod matches", "pods match"), selector);
	for (size_t i = 0; i < 2; i++) {
		if (counts[i] && l->matched == 1)
			buf_printf(&text, "it is %s", states[i]);
		else if (counts[i])
			buf_printf(&text, "%s%zu %s %s", i && counts[0] ? " and " : "", counts[i], size_text_plural((double)counts[i], "is", "are"), states[i]);
	}
	return buf_steal(&text);
}

static int none_found(struct work *w, const struct pod_list *l, const char *reason)
{
	const struct session_target *t = &w->s.spec.target;
	AUTO_FREE char *selector = t->pod_name ? NULL : pods_selector_text(t->selector, t->selector_count);
	AUTO_FREE char *message = NULL;
	if (t->pod_name && reason == REASON_PodNotFound)
		message = mem_printf("there is no pod %s in namespace %s", t->pod_name, w->s.namespace);
	else if (t->pod_name)
		message = mem_printf("pod %s %s", t->pod_name, reason == REASON_PodGone ? "has ended or is being deleted" : "is not running");
	else if (l->matched == 0)
		message = mem_printf("no pod of namespace %s matches %.200s", w->s.namespace, selector);
	else
		message = say_excluded(l, selector);
	if (!is_hopeless(w, reason))
		return wait_for_pods(w, reason, message);
	session_status_end(&w->s, true, reason, message, w->now_wall_ms);
	return 0;
}

static bool is_about_memory(enum profiler_kind kind)
{
	return kind == PROFILER_GC_SURVIVORS || kind == PROFILER_MEMORY_LEAK || kind == PROFILER_DUPLICATED_STRINGS;
}

/* The load of the resource that the profiler is about. */
static void measure_pod_load(struct work *w, struct pod_list *l)
{
	size_t count = 0;
	const char **nodes = mem_calloc(l->count, sizeof *nodes);
	struct link_pod_usage *usage = mem_calloc(l->count, sizeof *usage);
	size_t *index = mem_calloc(l->count, sizeof *index);
	for (size_t i = 0; i < l->count && count < LINK_MAX_PODS; i++) {
		if (!l->items[i].linked)
			continue;
		nodes[count] = l->items[i].node;
		usage[count] = (struct link_pod_usage){.cpu_millicores = -1, .memory_bytes = -1};
		snprintf(usage[count].pod_uid, sizeof usage[count].pod_uid, "%s", l->items[i].uid);
		index[count++] = i;
	}
	agent_hub_usage(w->r->hub, nodes, usage, count, USAGE_WINDOW_MS, clock_mono_ms() + USAGE_BOUND_MS);
	for (size_t i = 0; i < count; i++)
		l->items[index[i]].load = is_about_memory(w->s.spec.profiler) ? usage[i].memory_bytes : usage[i].cpu_millicores;
	free(nodes);
	free(usage);
	free(index);
}

bool reconcile_serves(const struct work *w, const struct agent_info *agent)
{
	return w->s.spec_valid && (agent->profilers >> w->s.spec.profiler & 1);
}

/* How many of the pods can be profiled now, going by their agents. *too_old: a pod whose agent is linked and does not know the profiler. */
static size_t look_for_agents(struct work *w, struct pod_list *l, const struct pod_info **too_old, struct agent_info *old)
{
	size_t served = 0;
	struct agent_info info;
	for (size_t i = 0; i < l->count; i++) {
		struct pod_info *p = &l->items[i];
		bool linked = agent_hub_lookup(w->r->hub, p->node, &info);
		p->linked = linked && reconcile_serves(w, &info);
		served += p->linked;
		if (linked && !p->linked && !*too_old) {
			*too_old = p;
			*old = info;
		}
	}
	return served;
}

static int wait_for_agent(struct work *w, const struct pod_info *first, const struct pod_info *too_old, const struct agent_info *old)
{
	AUTO_FREE char *message = NULL;
	if (too_old)
		message = mem_printf("the agent %s of node %s does not know the profiler %s; pod %s runs there", old->version, too_old->node,
				     profiler_kind_name(w->s.spec.profiler), too_old->name);
	else
		message = mem_printf("no agent is linked from node %s of pod %s", first->node, first->name);
	return wait_for_pods(w, too_old ? REASON_AgentTooOld : REASON_NodeWithoutAgent, message);
}

/* Which job of the session this is, after those that have missed their container's start. */
static size_t next_attempt(const struct work *w)
{
	char uid[40];
	size_t index, attempt;
	bool missed = w->s.pod_count && session_job_id_parse(w->s.pods[0].job.job_id, uid, &index, &attempt) == 0;
	return missed ? attempt + 1 : 0;
}

static void assign(struct work *w, struct pod_list *l, size_t count)
{
	size_t attempt = next_attempt(w);
	session_object_drop_pods(&w->s);
	w->s.pods = mem_calloc(count, sizeof *w->s.pods);
	w->s.pod_count = count;
	w->infos = mem_calloc(count, sizeof *w->infos);
	for (size_t i = 0; i < count; i++) {
		struct session_pod *p = &w->s.pods[i];
		snprintf(p->pod_name, sizeof p->pod_name, "%s", l->items[i].name);
		snprintf(p->workload, sizeof p->workload, "%s", l->items[i].workload);
		snprintf(p->pod_uid, sizeof p->pod_uid, "%s", l->items[i].uid);
		snprintf(p->node, sizeof p->node, "%s", l->items[i].node);
		p->job.phase = JOB_QUEUED;
		session_job_id(w->s.uid, i, attempt, p->job.job_id);
		w->infos[i] = l->items[i];
		l->items[i] = (struct pod_info){0};
	}
	w->assigned = true;
}

/* The first of the ranked pods become the session's, if their nodes have room. */
static int take_pods(struct work *w, struct pod_list *l, size_t count)
{
	const char *nodes[SESSION_MAX_TARGETS];
	AUTO_BUF struct buf why;
	buf_init(&why, 1024);
	for (size_t i = 0; i < count; i++)
		nodes[i] = l->items[i].node;
	if (!admission_choose(w->r->admission, w->key, nodes, count, w->now_mono_ms, &why))
		return wait_in_queue(w, &why);
	assign(w, l, count);
	return 0;
}

/* Whoever has asked for so many is told why it is fewer. */
static void note_left_out(struct work *w, const struct pod_list *l, size_t count, size_t wanted)
{
	char until[CLOCK_RFC3339_SIZE];
	if (count == wanted || count == l->count)
		return;
	const struct pod_info *p = &l->items[count];
	const char *end = p->occupied_until_wall_ms ? clock_rfc3339(p->occupied_until_wall_ms, until) : "";
	w->left_out = mem_printf("%zu of %zu pods were left out, because other sessions profile them: pod %s by session %s%s%s.",
				 (l->count < wanted ? l->count : wanted) - count, l->count, p->name, p->occupied_by, end[0] ? " until about " : "", end);
}

/* The pods that may be chosen, ranked: 1. 0: there are none, and why is said. */
static int find_pods(struct work *w, struct pod_list *l, struct err *e)
{
	const char *reason;
	if (pods_find(w->kube, w->s.namespace, &w->s.spec.target, l, &reason, e) < 0) {
		if (e->kind != ERR_INVALID)
			return -1;
		session_status_end(&w->s, false, REASON_InvalidSpec, e->message, w->now_wall_ms);
		*e = (struct err)ERR_INIT;
		return 0;
	}
	w->s.pods_matched = (int64_t)l->matched;
	return l->count ? 1 : none_found(w, l, reason);
}

int reconcile_choose(struct work *w, struct err *e)
{
	bool next = w->s.spec_valid && w->s.spec.start == START_NEXT_CONTAINER;
	struct pod_list l = {0};
	if (w->plan.stage != PLAN_CHOOSE)
		return 0;
	if (next) { /* it has a place in the queue from the start of the container on */
		int found = reconcile_choose_start(w, &l, e);
		if (found <= 0)
			return found;
	}
	AUTO_BUF struct buf why;
	buf_init(&why, 1024);
	if (!admission_ask(w->r->admission, w->key, &w->s, w->now_mono_ms, &why))
		return pod_list_fini(&l), wait_in_queue(w, &why);
	int found = next ? 1 : find_pods(w, &l, e);
	if (found <= 0)
		return pod_list_fini(&l), found;
	size_t wanted = (size_t)w->s.spec.target.max_pods;
	const struct pod_info *too_old = NULL;
	struct agent_info old;
	if (look_for_agents(w, &l, &too_old, &old) == 0) {
		wait_for_agent(w, &l.items[0], too_old, &old);
	} else {
		session_cache_occupy(w->r->cache, w->key, w->s.spec.target.container, l.items, l.count);
		if (l.count > wanted)
			measure_pod_load(w, &l);
		pods_rank(&l);
		size_t count = pods_take(&l, wanted);
		note_left_out(w, &l, count, wanted);
		take_pods(w, &l, count);
	}
	pod_list_fini(&l);
	return 0;
}

static void end_session_pod(struct work *w, size_t i, enum job_phase phase, const char *reason, const char *message)
{
	struct session_pod *p = &w->s.pods[i];
	p->job.phase = phase;
	free(p->job.reason);
	free(p->job.message);
	p->job.reason = mem_strdup(reason);
	p->job.message = mem_strdup(message);
	if (!p->job.completed_wall_ms)
		p->job.completed_wall_ms = w->now_wall_ms;
}

/* Why the pod waits. Without a reason of the plan the agent's own stays, but not one that we gave earlier. */
static void show_wait_reason(struct session_pod *p, const struct plan_pod *plan)
{
	const char *old = p->job.reason ? reason_intern(p->job.reason) : NULL;
	if (!plan->reason && old != REASON_NodeWithoutAgent && old != REASON_AgentLost && old != REASON_AgentTooOld)
		return;
	free(p->job.reason);
	free(p->job.message);
	p->job.reason = mem_strdup(plan->reason);
	p->job.message = mem_strdup(plan->message);
}

/* Reads the pod again; when it is gone, its part of the session is over. */
static int look_after(struct work *w, size_t i, struct err *e)
{
	struct session_pod *p = &w->s.pods[i];
	struct err why = ERR_INIT;
	pod_info_fini(&w->infos[i]);
	if (pods_get(w->kube, w->s.namespace, p->pod_name, p->pod_uid, &w->infos[i], &why) == 0 && !w->infos[i].over)
		return 0;
	if (why.kind != ERR_NONE && why.kind != ERR_NOT_FOUND) {
		*e = why;
		return -1;
	}
	w->plan.pods[i].action = POD_WAIT;
	if (w->views[i].linked && w->views[i].ordered_age_ms >= 0 && !job_phase_is_final(p->job.phase))
		return 0; /* an agent that has the order answers it, and may have its report meanwhile; a link that is stuck ends */
	end_session_pod(w, i, JOB_FAILED, REASON_PodGone,
			p->reported && !job_phase_is_final(p->job.phase) ? "The pod ended, and the agent of its node no longer has the session's job."
									 : "The pod ended before it could be profiled.");
	return 0;
}

/* Its agent has looked for a process and found none: it cannot tell that the pod has gone meanwhile. */
static bool found_empty(const struct work *w, size_t i)
{
	const struct session_pod *p = &w->s.pods[i];
	const char *reason = p->job.reason ? reason_intern(p->job.reason) : NULL;
	return p->job.phase == JOB_FAILED && !w->views[i].stored_final && (reason == REASON_NoDotnetProcess || reason == REASON_ProcessNotFound);
}

/* The pod is there, and this says why its agent has found nothing in it. */
static void explain_empty(struct work *w, size_t i)
{
	if (found_empty(w, i) && w->infos[i].name[0] && !w->infos[i].over && w->infos[i].container_count == 0)
		end_session_pod(w, i, JOB_FAILED, REASON_PodNotRunning, "None of the pod's containers runs: they have ended, or wait to be started again.");
}

int reconcile_inspect(struct work *w, struct err *e)
{
	if (w->plan.stage != PLAN_DRIVE || w->assigned)
		return 0;
	w->infos = mem_calloc(w->s.pod_count ? w->s.pod_count : 1, sizeof *w->infos);
	for (size_t i = 0; i < w->s.pod_count; i++) {
		const struct plan_pod *p = &w->plan.pods[i];
		if (found_empty(w, i) && look_after(w, i, e) < 0)
			return -1;
		explain_empty(w, i);
		if (job_phase_is_final(w->s.pods[i].job.phase))
			continue;
		if (p->action == POD_END)
			end_session_pod(w, i, p->end_phase, p->reason, p->message);
		else
			show_wait_reason(&w->s.pods[i], p);
		if ((p->action == POD_CHECK || p->action == POD_ORDER) && look_after(w, i, e) < 0)
			return -1;
	}
	return 0;
}

static void fill_order(const struct work *w, size_t i, struct link_order *o)
{
	const struct session_pod *p = &w->s.pods[i];
	const struct pod_info *info = &w->infos[i];
	int64_t deadline = plan_deadline_ms(&w->s), left = deadline - w->now_wall_ms;
	*o = (struct link_order){.spec = w->s.spec, .deadline_wall_ms = deadline, .left_ms = left > 0 ? left : 1};
	o->spec.baseline_session = NULL; /* is ours to compare with; older agents would not know the field */
	snprintf(o->job_id, sizeof o->job_id, "%s", p->job.job_id);
	snprintf(o->session_namespace, sizeof o->session_namespace, "%s", w->s.namespace);
	snprintf(o->session_name, sizeof o->session_name, "%s", w->s.name);
	snprintf(o->session_uid, sizeof o->session_uid, "%s", w->s.uid);
	const char *who = w->s.requested_by ? w->s.requested_by : "";
	snprintf(o->requested_by, sizeof o->requested_by, "%.*s", (int)text_cut_utf8(who, sizeof o->requested_by - 1), who);
	snprintf(o->pod_namespace, sizeof o->pod_namespace, "%s", w->s.namespace);
	snprintf(o->pod_name, sizeof o->pod_name, "%s", p->pod_name);
	snprintf(o->pod_uid, sizeof o->pod_uid, "%s", p->pod_uid);
	for (size_t k = 0; k < info->container_count && k < LINK_MAX_CONTAINERS; k++)
		o->containers[o->container_count++] = info->containers[k];
}

static int give_order(struct work *w, size_t i, struct err *e)
{
	struct link_order *o = mem_alloc(sizeof *o);
	fill_order(w, i, o); /* its spec is borrowed from the session */
	struct err why = ERR_INIT;
	int rc = agent_hub_order(w->r->hub, w->s.pods[i].node, o, &why);
	free(o);
	if (rc == 0) {
		session_cache_ordered(w->r->cache, w->key, i, clock_mono_ms());
		LOG_INFO("reconcile", "ordered", LOG_S("session", w->key), LOG_S("job", w->s.pods[i].job.job_id), LOG_S("pod", w->s.pods[i].pod_name),
			 LOG_S("node", w->s.pods[i].node));
		reconcile_wake_in(w, PLAN_SILENT_MS);
		return 0;
	}
	if (why.kind == ERR_NOT_FOUND) { /* the link went just now; its return brings this session back */
		reconcile_wake_in(w, PLAN_CHECK_MS);
		return 0;
	}
	*e = why;
	return -1;
}

static void give_cancel(struct work *w, size_t i)
{
	struct err why = ERR_INIT;
	int rc = agent_hub_cancel(w->r->hub, w->s.pods[i].node, w->s.pods[i].job.job_id, &why);
	if (rc < 0)
		LOG_WARN("reconcile", "cancel not sent", LOG_S("session", w->key), LOG_S("error", why.message));
	session_cache_canceled(w->r->cache, w->key, i, clock_mono_ms(), rc == 0);
	reconcile_wake_in(w, rc == 0 ? PLAN_CANCEL_MS : 1000);
}

/* Pods that were chosen just now have no plan yet: those that cannot be ordered get one in the next turn. */
static enum pod_action action_for(struct work *w, size_t i)
{
	if (w->assigned && !w->infos[i].linked)
		reconcile_wake_in(w, 0);
	if (w->assigned)
		return w->infos[i].linked ? POD_ORDER : POD_WAIT;
	return w->plan.stage == PLAN_DRIVE ? w->plan.pods[i].action : POD_WAIT;
}

int reconcile_orders(struct work *w, struct err *e)
{
	for (size_t i = 0; i < w->s.pod_count; i++) {
		enum pod_action action = action_for(w, i);
		if (action == POD_ORDER && !job_phase_is_final(w->s.pods[i].job.phase) && give_order(w, i, e) < 0)
			return -1;
		if (action == POD_CANCEL)
			give_cancel(w, i);
	}
	if (w->s.spec_valid && w->s.spec.cancel && w->plan.stage == PLAN_DRIVE) { /* the bound of a cancel runs without a link too */
		for (size_t i = 0; i < w->s.pod_count; i++) {
			if (!w->views[i].linked)
				session_cache_canceled(w->r->cache, w->key, i, clock_mono_ms(), false);
		}
	}
	return 0;
}
