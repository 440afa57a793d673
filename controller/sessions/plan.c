#include "controller/sessions/plan.h"

#include "common/api/reason.h"

int64_t plan_deadline_ms(const struct profiling_session *s)
{
	return s->created_wall_ms + s->spec.active_deadline_seconds * 1000;
}

int64_t plan_retry_ms(const struct profiling_session *s, int64_t now_wall_ms)
{
	int64_t age = now_wall_ms - s->created_wall_ms;
	return age < 4000 ? 1000 : age > 60000 ? 15000 : age / 4;
}

static void wake_at(struct plan *p, int64_t wall_ms)
{
	if (wall_ms < p->wake_wall_ms)
		p->wake_wall_ms = wall_ms;
}

/* True when `wall_ms` has come; else the plan wakes then. */
static bool due(struct plan *p, int64_t wall_ms, int64_t now_wall_ms)
{
	if (now_wall_ms >= wall_ms)
		return true;
	wake_at(p, wall_ms);
	return false;
}

/* The same for an age of this process: has it reached `limit_ms`? */
static bool aged(struct plan *p, int64_t age_ms, int64_t limit_ms, int64_t now_wall_ms)
{
	return due(p, now_wall_ms + limit_ms - (age_ms < 0 ? 0 : age_ms), now_wall_ms);
}

static struct plan_pod plan_end_pod(enum job_phase phase, const char *reason, const char *message)
{
	return (struct plan_pod){POD_END, phase, reason, message};
}

static struct plan_pod act(enum pod_action action)
{
	return (struct plan_pod){.action = action};
}

static struct plan_pod cancel_once(const struct plan_pod_view *v)
{
	return act(v->cancel_sent ? POD_WAIT : POD_CANCEL);
}

struct drive {
	const struct profiling_session *s;
	const struct session_pod *pod;
	const struct plan_pod_view *v;
	int64_t now, deadline;
	bool ordered; /* at any time, by any leader, for all that is known */
	bool detached; /* the profiler is out of the process */
	struct plan *plan;
};

/* The order may be of a leader before us, and the job even finished: then its agent alone knows, and nothing is decided before it has told this leader of
 * all its jobs. (The pod may be gone, the deadline over: what the agent holds is the report all the same.) An order of ours it answers with the state. */
static bool may_be_told_yet(struct drive *d)
{
	const struct plan_pod_view *v = d->v;
	if (v->complete || v->unordered || v->ordered_age_ms >= 0 || (v->reported_in_link && !v->says_complete))
		return false;
	int64_t limit_ms = !v->linked ? PLAN_RETURN_MS : v->says_complete ? PLAN_COMPLETE_MS : PLAN_TELL_MS;
	return !aged(d->plan, v->linked_age_ms, limit_ms, d->now);
}

/* The agent has told of all its jobs, and this one is not among them. */
static bool is_missing(const struct plan_pod_view *v)
{
	bool has_told = v->complete || (v->linked && !v->says_complete && v->linked_age_ms >= PLAN_TELL_MS);
	return has_told && !v->reported_in_link && v->ordered_age_ms < 0;
}

static struct plan_pod drive_canceled(struct drive *d)
{
	if (may_be_told_yet(d))
		return act(POD_WAIT);
	if (!d->ordered)
		return plan_end_pod(JOB_CANCELED, REASON_Canceled, "The session was canceled before the agent had the order.");
	if (aged(d->plan, d->v->canceled_age_ms, PLAN_CANCEL_MS, d->now))
		return plan_end_pod(JOB_CANCELED, d->v->linked ? REASON_Canceled : REASON_AgentLost, "The agent did not confirm the cancel.");
	return d->v->linked ? cancel_once(d->v) : (struct plan_pod){POD_WAIT, JOB_QUEUED, REASON_AgentLost, "The link to the agent is lost."};
}

/* The bound of a phase, when it has passed. */
static bool past_bound(struct drive *d, struct plan_pod *out)
{
	static const char late[] = "The session's deadline has passed.";
	if (!d->ordered) {
		if (!due(d->plan, d->deadline, d->now))
			return false;
		*out = plan_end_pod(JOB_FAILED, REASON_DeadlineExceeded,
				    d->v->too_old  ? "The session's deadline has passed; the agent of the pod's node is too old for it."
				    : d->v->linked ? late
					      : "The session's deadline has passed; no agent was linked from the pod's node.");
		return true;
	}
	if (d->pod->job.phase == JOB_DELIVERING) {
		*out = plan_end_pod(JOB_FAILED, REASON_DeliveryExpired, "The report could not be delivered in time.");
		return due(d->plan, d->deadline + PLAN_DELIVERY_MS, d->now);
	}
	if (!d->v->linked) {
		*out = plan_end_pod(JOB_FAILED, REASON_AgentLost, "The link to the agent was lost and did not come back.");
		return due(d->plan, d->deadline + PLAN_LOST_MS, d->now);
	}
	*out = plan_end_pod(JOB_FAILED, REASON_DeadlineExceeded, late);
	return due(d->plan, d->deadline + (d->detached ? PLAN_ANALYZING_MS : PLAN_DEADLINE_END_MS), d->now);
}

static struct plan_pod drive_unlinked(struct drive *d)
{
	if (d->ordered)
		return (struct plan_pod){POD_WAIT, JOB_QUEUED, REASON_AgentLost,
					 "The link to the agent is lost; it finishes the job and reports when it is back."};
	wake_at(d->plan, d->now + PLAN_CHECK_MS);
	return (struct plan_pod){may_be_told_yet(d) ? POD_WAIT : POD_CHECK, JOB_QUEUED, REASON_NodeWithoutAgent, "No agent is linked from the pod's node."};
}

static struct plan_pod drive_too_old(struct drive *d)
{
	wake_at(d->plan, d->now + PLAN_CHECK_MS);
	return (struct plan_pod){POD_CHECK, JOB_QUEUED, REASON_AgentTooOld, "The agent of the pod's node does not know this profiler."};
}

/* Linked, and the agent has not spoken of the job in this link. */
static struct plan_pod drive_silent(struct drive *d)
{
	if (d->detached) {
		if (d->v->complete || aged(d->plan, d->v->linked_age_ms, PLAN_SILENT_MS, d->now))
			return plan_end_pod(JOB_FAILED, REASON_AgentLost, "The agent was restarted and no longer has this job's report.");
		return act(POD_WAIT);
	}
	if (d->v->ordered_age_ms < 0 || aged(d->plan, d->v->ordered_age_ms, PLAN_SILENT_MS, d->now))
		return act(POD_ORDER);
	return act(POD_WAIT);
}

static struct plan_pod drive_pod(struct drive *d)
{
	struct plan_pod out;
	if (job_phase_is_final(d->pod->job.phase))
		return act(POD_WAIT);
	bool keeps_report = d->detached && d->v->linked; /* it is on the way: a cancel changes nothing any more */
	if (d->s->spec.cancel && !keeps_report)
		return drive_canceled(d);
	if (past_bound(d, &out))
		return may_be_told_yet(d) ? act(POD_WAIT) : out;
	if (!d->v->linked)
		return drive_unlinked(d);
	if (may_be_told_yet(d))
		return act(POD_WAIT);
	if (d->ordered && !d->detached && due(d->plan, d->deadline + PLAN_DEADLINE_GRACE_MS, d->now))
		return cancel_once(d->v);
	if (d->v->too_old && !d->ordered)
		return drive_too_old(d);
	if (!d->v->reported_in_link)
		return drive_silent(d);
	return act(POD_WAIT);
}

static struct drive drive_for(const struct profiling_session *s, const struct plan_pod_view *views, size_t i, int64_t now, struct plan *out)
{
	const struct session_pod *pod = &s->pods[i];
	const struct plan_pod_view *v = &views[i];
	return (struct drive){
		.s = s,
		.pod = pod,
		.v = v,
		.now = now,
		.deadline = plan_deadline_ms(s),
		.ordered = pod->reported || v->ordered_age_ms >= 0 || (!v->unordered && !is_missing(v)),
		.detached = pod->reported && pod->job.phase >= JOB_ANALYZING,
		.plan = out,
	};
}

/* Being deleted: the finalizer goes when the profiler is out of every process, or after a while. */
static void plan_delete(const struct profiling_session *s, const struct plan_pod_view *views, int64_t now, struct plan *out)
{
	if (!session_object_has_finalizer(s))
		return;
	out->stage = PLAN_DRIVE;
	bool all_out = true;
	for (size_t i = 0; i < s->pod_count; i++) {
		struct drive d = drive_for(s, views, i, now, out);
		if (d.detached || job_phase_is_final(d.pod->job.phase))
			continue;
		if (d.v->linked && !may_be_told_yet(&d) && !d.ordered)
			continue;
		all_out = false;
		if (d.v->linked)
			out->pods[i] = cancel_once(d.v);
	}
	out->release = all_out || due(out, s->deleted_wall_ms + PLAN_RELEASE_MS, now);
}

static void plan_finished(const struct profiling_session *s, int64_t now, struct plan *out)
{
	out->stage = PLAN_FINISHED;
	out->release = session_object_has_finalizer(s);
	int64_t ttl = s->spec_valid ? s->spec.ttl_seconds_after_finished : 604800;
	int64_t ended = s->completed_wall_ms ? s->completed_wall_ms : s->created_wall_ms;
	out->expire = now >= ended + ttl * 1000; /* the cache knows when to come again: no timer for days */
}

void plan_make(const struct profiling_session *s, const struct plan_pod_view *views, int64_t now_wall_ms, struct plan *out)
{
	*out = (struct plan){.stage = PLAN_IGNORE, .wake_wall_ms = INT64_MAX};
	if (session_object_deleting(s)) {
		plan_delete(s, views, now_wall_ms, out);
		return;
	}
	if (session_object_completed(s)) {
		plan_finished(s, now_wall_ms, out);
		return;
	}
	if (!s->spec_valid) {
		out->stage = PLAN_REJECT;
		return;
	}
	bool missed = s->pod_count && session_object_unassigned(s);
	if (s->pod_count && !missed) {
		out->stage = PLAN_DRIVE;
		for (size_t i = 0; i < s->pod_count; i++) {
			struct drive d = drive_for(s, views, i, now_wall_ms, out);
			out->pods[i] = drive_pod(&d);
		}
		return;
	}
	if (s->spec.cancel) {
		out->stage = PLAN_END;
		out->reason = REASON_Canceled;
		out->message = "The session was canceled before a pod was chosen.";
	} else if (due(out, plan_deadline_ms(s), now_wall_ms)) {
		out->stage = PLAN_END;
		bool next = s->spec.start == START_NEXT_CONTAINER && s->conditions[CONDITION_SUCCEEDED].reason != REASON_Queued;
		out->reason = missed ? REASON_StartMissed : next ? REASON_NoContainerStarted : REASON_DeadlineExceeded;
		out->message = missed ? "The start of a container was missed, and no other could be profiled before the session's deadline."
			       : next ? "No container of the target with a .NET process has started before the session's deadline."
				      : "The session's deadline has passed before a pod could be chosen.";
	} else {
		out->stage = PLAN_CHOOSE;
	}
}
