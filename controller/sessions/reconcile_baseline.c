/* The steps of a reconcile that deal with spec.baselineSession: before pods are chosen it must be usable; when all pods are done, the session's end
 * waits for the comparison, so that whoever waits for Completed has it. */
#include "controller/sessions/reconcile_private.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "controller/sessions/baseline.h"

#define ASK_AGAIN_MS 1000

int reconcile_check_baseline(struct work *w, struct err *e)
{
	struct profiling_session baseline;
	if (w->plan.stage != PLAN_CHOOSE || !w->s.spec.baseline_session || w->s.of_trigger)
		return 0; /* that of a trigger is wanted without a comparison, too: status.comparison says why there is none */
	struct kube_ref ref = {.api = KUBE_SESSIONS, .plural = SESSION_PLURAL, .namespace = w->s.namespace, .name = w->s.spec.baseline_session};
	AUTO_JSON json_t *object = NULL;
	struct err why = ERR_INIT;
	bool there = kube_get(w->kube, &ref, &object, &why) == 0 && session_object_from_json(object, &baseline, &why) == 0;
	if (!there && why.kind != ERR_NOT_FOUND) {
		*e = why;
		return -1;
	}
	AUTO_FREE char *unusable = baseline_unusable(&w->s, there ? &baseline : NULL);
	if (there)
		session_object_fini(&baseline);
	if (unusable) {
		w->plan.stage = PLAN_END; /* nothing is to be chosen any more */
		session_status_end(&w->s, false, REASON_BaselineUnusable, unusable, w->now_wall_ms);
	}
	return 0;
}

static bool all_done(const struct profiling_session *s)
{
	for (size_t i = 0; i < s->pod_count; i++) {
		if (!job_phase_is_final(s->pods[i].job.phase))
			return false;
	}
	return s->pod_count > 0;
}

int reconcile_compare(struct work *w, struct err *e)
{
	const struct link_report *report;
	struct profiling_session *s = &w->s;
	(void)e;
	if (w->plan.stage != PLAN_DRIVE || !s->spec_valid || !s->spec.baseline_session || s->comparison || session_object_deleting(s) || !all_done(s) ||
	    !baseline_pod(s, NULL, &report))
		return 0;
	s->comparison = w->r->comparisons ? comparisons_get(w->r->comparisons, s, w->now_mono_ms) : mem_strdup("Not compared.");
	w->comparing = !s->comparison;
	if (w->comparing)
		reconcile_wake_in(w, ASK_AGAIN_MS); /* and when it is there */
	return 0;
}
