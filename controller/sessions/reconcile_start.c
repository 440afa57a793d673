/* The step of a reconcile that chooses the pod of a session which waits for the next container to start. */
#include "controller/sessions/reconcile_private.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <stdio.h>

#define ROOM_LOOK_MS 5000

/* 0, and its status says what it waits for: it has no place in the queue, and is in nobody's way. */
static int wait_with(struct work *w, const char *reason, const char *text)
{
	char until[CLOCK_RFC3339_SIZE];
	AUTO_FREE char *whole = mem_printf("%s" RECONCILE_UNTIL "%s", text, clock_rfc3339(plan_deadline_ms(&w->s), until));
	admission_release(w->r->admission, w->key);
	session_status_wait(&w->s, reason, whole, w->now_wall_ms);
	return 0;
}

static int wait_for_start(struct work *w, size_t agents)
{
	const struct session_target *t = &w->s.spec.target;
	AUTO_FREE char *selector = t->pod_name ? mem_printf("pod %s", t->pod_name) : pods_selector_text(t->selector, t->selector_count);
	AUTO_FREE char *watch = agents == 1 ? mem_strdup("agent of one node watches") : mem_printf("agents of %zu nodes watch", agents);
	const struct session_pod *missed = w->s.pod_count ? &w->s.pods[0] : NULL;
	AUTO_FREE char *last = missed ? mem_printf("the start in pod %s was missed: %s; ", missed->pod_name, missed->job.message ? missed->job.message : "")
				      : mem_strdup("");
	AUTO_FREE char *text = mem_printf("%sthe next container of %s%.200s that starts will be profiled; the %s", last, t->pod_name ? "" : "pods with ",
					  selector, watch);
	if (!agents)
		return wait_with(w, REASON_NodeWithoutAgent, "no agent is linked that can sample a container from its start");
	return wait_with(w, REASON_WaitingForContainerStart, text);
}

/* Nothing says when one of them ends. */
static int wait_among_waiting(struct work *w)
{
	AUTO_FREE char *text = mem_printf("as many sessions wait for a container to start as may at once (%d of a namespace, %d of all); this one begins "
					  "to wait when one of them ends", STARTS_SESSIONS_PER_NAMESPACE, STARTS_SESSIONS_MAX);
	reconcile_wake_in(w, ROOM_LOOK_MS);
	return wait_with(w, REASON_Queued, text);
}

/* Takes the first start that is of the target: 1, with its pod in *out. 0: none is. */
static int find_start(struct work *w, struct started *start, struct pod_info *out, struct err *e)
{
	if (starts_taken(w->r->starts, w->key, w->now_mono_ms, start))
		return pods_find_uid(w->kube, w->s.namespace, &w->s.spec.target, start->pod_uid, out, e);
	while (starts_next(w->r->starts, w->key, w->now_mono_ms, start)) {
		int found = pods_find_uid(w->kube, w->s.namespace, &w->s.spec.target, start->pod_uid, out, e);
		if (found < 0)
			return -1;
		if (found && starts_take(w->r->starts, w->key, start))
			return 1;
		pod_info_fini(out);
	}
	return 0;
}

/* The agent sees when a port listens; when the pod became ready its status tells. */
void reconcile_tell_readiness(struct work *w)
{
	const struct session_pod *p = &w->s.pods[0];
	struct pod_info pod = {0};
	struct err e = ERR_INIT;
	char text[80];
	if (w->s.pod_count != 1 || pods_get(w->kube, w->s.namespace, p->pod_name, p->pod_uid, &pod, &e) < 0)
		return;
	int64_t after_ms = pod_ready_after_ms(&pod);
	if (after_ms >= 0)
		snprintf(text, sizeof text, "The pod became ready %lld s after its container started.", (long long)(after_ms / 1000));
	else
		snprintf(text, sizeof text, "The pod was not ready when the session ended.");
	if (after_ms >= 0 || !pod.ready)
		session_status_add(&w->s, text, w->now_wall_ms);
	pod_info_fini(&pod);
}

int reconcile_choose_start(struct work *w, struct pod_list *l, struct err *e)
{
	const struct start_wish wish = {w->key, w->s.namespace, w->s.requested_by, &w->s.spec.target, w->s.spec.frequency_hertz};
	struct started start;
	struct pod_info pod = {0};
	size_t agents;
	*l = (struct pod_list){0};
	if (w->r->no_starts) {
		session_status_end(&w->s, false, REASON_StartsNotEnabled, "this installation samples no container from its start", w->now_wall_ms);
		return 0;
	}
	int waits = starts_await(w->r->starts, w->r->hub, &wish, w->now_mono_ms, &agents, e);
	if (waits <= 0)
		return waits < 0 ? -1 : wait_among_waiting(w);
	int found = find_start(w, &start, &pod, e);
	if (found < 0)
		return -1;
	if (!found)
		return wait_for_start(w, agents);
	reconcile_wake_in(w, start.heard_mono_ms + STARTS_KEPT_MS - w->now_mono_ms);
	w->s.pods_matched = 1;
	GROW(l->items, l->count, l->cap);
	l->items[l->count++] = pod;
	return 1;
}
