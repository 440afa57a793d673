/* A session of one pod, its agent with a spool, one or two replicas of the controller, and all that may go away in any phase and come back early, late or
 * too late: what the agent wrote is delivered, or the status says why not. The cache and the plan are the real ones; reconciler, agent, links and API
 * server are played. */
#include "controller/sessions/session_cache.h"

#include "common/api/reason.h"
#include "tests/unit/controller/sessions/make_session.h"

#include <string.h>

#define KEY "shop/cpu"
#define JOB UID "-0"
#define NODE "n"
#define TARGET "\"targets\":[{\"podName\":\"a\",\"podUID\":\"u\",\"nodeName\":\"" NODE "\",\"jobID\":\"" JOB "\",\"phase\":\"%s\",\"reason\":\"%s\"}]"
#define STEP_MS 500
#define DEADLINE_MS 100000 /* all times count from the session's creation */
#define PROFILING_MS 10000
#define LEASE_MS 8000
#define WATCH_BACK_MS 60000
#define SLOW_MS 20000
#define NEVER INT64_MAX
#define REPLICAS 2

enum loss { NOTHING, CONTROLLER, AGENT, POD, STORE, LINK, CANCEL, LOSS_COUNT };
static const char *const loss_names[] = {"nothing", "controller", "agent", "pod", "store", "link", "cancel"};

enum standby { ALONE, HEARD, UNLINKED, BLIND };
static const char *const standby_names[] = {"one replica", "a standby that has heard of the job", "a standby without link", "a standby whose watch is behind"};

enum kind { OLD, NEW, SLOW, KIND_COUNT };
static const char *const kind_names[] = {"an agent that does not say when it has told all", "an agent", "an agent that is slow to tell"};

static const int64_t away_ms[] = {1000, 40000, 200000, 1000000}; /* at once; after PLAN_RETURN_MS; after the deadline; after PLAN_LOST_MS, too */
#define AWAYS (sizeof away_ms / sizeof *away_ms)

struct scene {
	enum standby standby;
	enum kind kind;
	enum job_phase at;    /* of the agent's job, when the first loss comes */
	enum loss losses[2];  /* the second comes a second after the first */
	size_t away[2];
};

struct replica {
	struct session_cache *cache;
	bool alive, linked, sees; /* its watch runs */
	int64_t epoch, link_ms, wake_ms, up_ms;
	bool dirty, told, complete, unsettled;
};

struct world {
	const struct scene *scene;
	int64_t now_ms, epoch, loss_ms;
	struct replica replicas[REPLICAS];
	size_t leader; /* REPLICAS: none */
	int64_t lease_ms;
	/* the API server */
	int version;
	bool assigned, canceled;
	char phase[16], reason[32], message[128]; /* phase "": no pods yet */
	/* the rest of the world; times until when something is away */
	int64_t agent_ms, store_ms, link_ms;
	bool pod_gone;
	/* the agent */
	bool has_job, saved, report_written, delivered, job_canceled;
	enum job_phase job, saved_phase;
	int64_t phase_ms, highest_epoch;
	int profiled_after_report;
};

static bool stored_is_final(const struct world *w)
{
	enum job_phase p;
	return job_phase_parse(w->phase, &p) == 0 && job_phase_is_final(p);
}

static struct profiling_session stored_session(const struct world *w)
{
	const char *end = stored_is_final(w) ? "," COMPLETED_CONDITION : "";
	AUTO_FREE char *status = w->assigned ? mem_printf(TARGET "%s", w->phase, w->reason, end) : mem_strdup("");
	struct profiling_session s = make_session(w->assigned ? ",\"finalizers\":[\"drdotnet.dev/detach\"]" : "", w->canceled ? SPEC_CANCELED : SPEC, status);
	snprintf(s.resource_version, sizeof s.resource_version, "%d", w->version);
	return s;
}

static void refresh(struct world *w, struct replica *r)
{
	struct profiling_session s = stored_session(w);
	session_cache_put_take(r->cache, &s);
	r->dirty = true;
}

static void write_api(struct world *w, struct replica *writer)
{
	w->version++;
	for (size_t i = 0; i < REPLICAS; i++) {
		struct replica *r = &w->replicas[i];
		if (r->cache && r->alive && (r == writer || r->sees))
			refresh(w, r);
	}
}

/* The agent -------------------------------------------------------------------------------------------------------- */

static bool is_up(const struct world *w)
{
	return w->now_ms >= w->agent_ms;
}

static void enter(struct world *w, enum job_phase phase)
{
	w->job = phase;
	w->phase_ms = w->now_ms;
	for (size_t i = 0; i < REPLICAS; i++)
		w->replicas[i].told = false;
	if (phase == JOB_QUEUED || phase == JOB_PREPARING)
		return;
	w->saved = true;
	w->saved_phase = phase == JOB_ANALYZING ? JOB_PROFILING : phase;
	w->report_written |= phase == JOB_DELIVERING;
}

static void give(struct world *w, enum link_msg_type type, int64_t epoch)
{
	if (!is_up(w) || w->now_ms < w->link_ms || epoch < w->highest_epoch)
		return;
	w->highest_epoch = epoch;
	if (type == LINK_MSG_ORDER && !w->has_job) {
		w->has_job = true;
		w->profiled_after_report += w->report_written;
		enter(w, JOB_QUEUED);
	} else if (type == LINK_MSG_ORDER) {
		enter(w, w->job); /* answered with its state */
	} else if (type == LINK_MSG_CANCEL) {
		w->job_canceled = w->has_job;
	} else if (type == LINK_MSG_FORGET) {
		w->has_job = w->saved = false;
	}
}

static void deliver(struct world *w)
{
	struct session_upload u;
	struct err e = ERR_INIT;
	struct replica *r = w->leader < REPLICAS ? &w->replicas[w->leader] : NULL;
	if (!r || !r->linked || w->highest_epoch != r->epoch || w->now_ms < w->store_ms)
		return;
	if (session_cache_upload(r->cache, NODE, JOB, &u, &e) == 0) {
		w->delivered = true;
		enter(w, w->job_canceled ? JOB_CANCELED : JOB_SUCCEEDED);
	} else if (e.kind != ERR_RETRY) {
		enter(w, JOB_FAILED);
	}
}

static void run_agent(struct world *w)
{
	int64_t age_ms = w->now_ms - w->phase_ms;
	bool begun = w->job == JOB_PROFILING || w->job == JOB_ANALYZING;
	if (!is_up(w) || !w->has_job || job_phase_is_final(w->job))
		return;
	if (!begun && w->job != JOB_DELIVERING && (w->pod_gone || w->job_canceled || w->now_ms > DEADLINE_MS)) {
		enter(w, w->job_canceled ? JOB_CANCELED : JOB_FAILED);
	} else if (w->job == JOB_QUEUED || w->job == JOB_PREPARING || w->job == JOB_ANALYZING) {
		if (age_ms >= 1000)
			enter(w, w->job + 1);
	} else if (w->job == JOB_PROFILING) {
		if (age_ms >= PROFILING_MS || w->pod_gone || w->job_canceled || w->now_ms > DEADLINE_MS)
			enter(w, JOB_ANALYZING);
	} else {
		deliver(w);
	}
}

/* What was written goes on; what was cut off starts again where there is time. */
static void restart_agent(struct world *w)
{
	w->has_job = w->saved;
	if (!w->has_job)
		return;
	bool goes_on = w->saved_phase >= JOB_DELIVERING, has_time = w->now_ms + PROFILING_MS + 5000 < DEADLINE_MS;
	w->job_canceled &= goes_on;
	enter(w, goes_on ? w->saved_phase : has_time ? JOB_QUEUED : JOB_FAILED);
}

/* Links ------------------------------------------------------------------------------------------------------------ */

static bool may_link(const struct world *w, const struct replica *r)
{
	bool standby = w->scene->standby == UNLINKED && !r->epoch;
	return r->alive && is_up(w) && w->now_ms >= w->link_ms && !standby;
}

static void tell_replica(struct world *w, struct replica *r)
{
	struct link_job job = {.phase = w->job, .job_id = JOB};
	char key[SESSION_KEY_SIZE];
	bool slow = w->scene->kind == SLOW && w->now_ms < r->link_ms + SLOW_MS;
	if (!r->linked || slow)
		return;
	if (w->has_job && !r->told) {
		enum session_job_verdict verdict = session_cache_job(r->cache, NODE, &job, key);
		r->unsettled |= verdict == SESSION_JOB_UNKNOWN || verdict == SESSION_JOB_EARLY;
		r->told = r->dirty = true;
	}
	if (r->epoch && r->epoch >= w->highest_epoch && !r->complete) {
		w->highest_epoch = r->epoch;
		r->complete = r->dirty = true;
		if (w->scene->kind != OLD)
			session_cache_complete(r->cache, NODE, r->epoch);
	}
}

static void run_links(struct world *w)
{
	for (size_t i = 0; i < REPLICAS; i++) {
		struct replica *r = &w->replicas[i];
		if (!r->cache)
			continue;
		if (r->linked != may_link(w, r)) {
			r->linked = !r->linked;
			r->link_ms = w->now_ms;
			r->told = r->complete = false;
			r->dirty = true;
			session_cache_node(r->cache, NODE, r->linked, w->scene->kind != OLD, w->now_ms);
			continue; /* what is said comes a moment later */
		}
		tell_replica(w, r);
	}
}

/* The controller --------------------------------------------------------------------------------------------------- */

static void start_replica(struct world *w, size_t i)
{
	struct replica *r = &w->replicas[i];
	session_cache_free(r->cache);
	*r = (struct replica){.cache = session_cache_new(), .alive = true, .sees = true, .wake_ms = NEVER, .up_ms = NEVER};
	if (w->version && !(i == 1 && w->scene->standby == BLIND))
		refresh(w, r);
}

static void run_election(struct world *w)
{
	for (size_t i = 0; i < REPLICAS; i++) {
		struct replica *r = &w->replicas[i];
		if (!r->alive && w->now_ms >= r->up_ms)
			start_replica(w, i);
		if (!r->alive || w->leader < REPLICAS || w->now_ms < w->lease_ms)
			continue;
		w->leader = i;
		r->epoch = ++w->epoch;
		r->complete = false;
		r->told = w->scene->kind == OLD && r->told; /* the others tell a leader again */
		r->dirty = true;
		r->up_ms = w->now_ms;
		session_cache_lead(r->cache, r->epoch, w->now_ms);
	}
}

static void put_status(struct world *w, struct replica *r, const char *phase, const char *reason, const char *message)
{
	if (strcmp(w->phase, phase) == 0 && strcmp(w->reason, reason ? reason : "") == 0)
		return;
	snprintf(w->phase, sizeof w->phase, "%s", phase);
	snprintf(w->reason, sizeof w->reason, "%s", reason ? reason : "");
	snprintf(w->message, sizeof w->message, "%s", message ? message : "");
	write_api(w, r);
}

static void order(struct world *w, struct replica *r)
{
	if (!r->linked)
		return;
	session_cache_ordered(r->cache, KEY, 0, w->now_ms);
	give(w, LINK_MSG_ORDER, r->epoch);
}

static void choose(struct world *w, struct replica *r)
{
	if (!r->linked || w->pod_gone)
		return;
	w->assigned = true;
	put_status(w, r, "Pending", NULL, NULL);
	session_cache_assigned(r->cache, KEY);
	order(w, r);
}

static void drive(struct world *w, struct replica *r, const struct profiling_session *s, const struct plan_pod_view *v, struct plan_pod p)
{
	bool looks = p.action == POD_CHECK || p.action == POD_ORDER, told_end = job_phase_is_final(s->pods[0].job.phase);
	bool answers = v->linked && v->ordered_age_ms >= 0;
	if (looks && w->pod_gone && answers)
		p = (struct plan_pod){.action = POD_WAIT};
	else if (looks && w->pod_gone)
		p = (struct plan_pod){POD_END, JOB_FAILED, REASON_PodGone, ""};
	if (p.action == POD_END && !told_end)
		put_status(w, r, job_phase_name(p.end_phase), p.reason, p.message);
	else if (s->pods[0].reported)
		put_status(w, r, job_phase_name(s->pods[0].job.phase), p.reason, NULL);
	else
		put_status(w, r, "Pending", p.reason, NULL);
	if (p.action == POD_ORDER)
		order(w, r);
	if (p.action == POD_CANCEL && r->linked)
		give(w, LINK_MSG_CANCEL, r->epoch);
	if (p.action == POD_CANCEL || (w->canceled && !v->linked))
		session_cache_canceled(r->cache, KEY, 0, w->now_ms, p.action == POD_CANCEL && r->linked);
	if (p.action == POD_END || told_end)
		give(w, told_end ? LINK_MSG_FORGET : LINK_MSG_CANCEL, r->epoch);
}

static void reconcile_once(struct world *w, struct replica *r)
{
	struct profiling_session s;
	struct plan_pod_view *views;
	int64_t ignored;
	struct plan p;
	r->dirty = false;
	r->wake_ms = NEVER;
	if (session_cache_get(r->cache, KEY, w->now_ms, &s, &views, &ignored) != SESSION_ACTIVE) {
		session_object_fini(&s);
		return;
	}
	plan_make(&s, views, CREATED_MS + w->now_ms, &p);
	if (p.wake_wall_ms != INT64_MAX)
		r->wake_ms = p.wake_wall_ms - CREATED_MS;
	if (atoi(s.resource_version) < w->version) /* each of its writes is refused, and it reads */
		refresh(w, r);
	else if (p.stage == PLAN_CHOOSE)
		choose(w, r);
	else if (p.stage == PLAN_DRIVE)
		drive(w, r, &s, &views[0], p.pods[0]);
	else if (p.stage == PLAN_FINISHED)
		give(w, LINK_MSG_FORGET, r->epoch);
	free(views);
	session_object_fini(&s);
}

static void run_leader(struct world *w)
{
	struct replica *r = w->leader < REPLICAS ? &w->replicas[w->leader] : NULL;
	if (!r)
		return;
	if (!r->sees && w->now_ms >= r->up_ms + WATCH_BACK_MS) {
		r->sees = true;
		refresh(w, r);
	}
	if (r->unsettled) { /* it asks the API server for the session */
		r->unsettled = false;
		refresh(w, r);
	}
	if (r->dirty || w->now_ms >= r->wake_ms)
		reconcile_once(w, r);
}

/* The story -------------------------------------------------------------------------------------------------------- */

static void lose(struct world *w, size_t i)
{
	int64_t back_ms = w->now_ms + away_ms[w->scene->away[i]];
	struct replica *r = w->leader < REPLICAS ? &w->replicas[w->leader] : NULL;
	switch (w->scene->losses[i]) {
	case CONTROLLER:
		if (!r)
			return;
		r->alive = r->linked = false;
		r->epoch = 0;
		r->up_ms = w->scene->standby == ALONE ? back_ms : NEVER;
		w->leader = REPLICAS;
		w->lease_ms = w->now_ms + LEASE_MS;
		return;
	case AGENT:
		w->agent_ms = back_ms;
		return;
	case POD:
		w->pod_gone = true;
		return;
	case STORE:
		w->store_ms = back_ms;
		return;
	case LINK:
		w->link_ms = back_ms;
		return;
	case CANCEL:
		w->canceled = true;
		write_api(w, NULL);
		return;
	case NOTHING:
	case LOSS_COUNT:
		return;
	}
}

static void lose_in_time(struct world *w)
{
	if (w->loss_ms == NEVER && w->has_job && w->job == w->scene->at) {
		w->loss_ms = w->now_ms;
		lose(w, 0);
	} else if (w->loss_ms != NEVER && w->now_ms == w->loss_ms + 1000) {
		lose(w, 1);
	}
}

/* Was the agent, or the link to it, away for longer than it is waited for, or was a cancel not confirmed in time? */
static bool may_be_given_up(const struct scene *s)
{
	bool cancel = s->losses[0] == CANCEL || s->losses[1] == CANCEL;
	for (size_t i = 0; i < 2; i++) {
		if ((s->losses[i] == AGENT || s->losses[i] == LINK) && (s->away[i] == AWAYS - 1 || (cancel && s->away[i] > 1)))
			return true;
	}
	return false;
}

static void judge(const struct world *w)
{
	const struct scene *s = w->scene;
	AUTO_FREE char *about = mem_printf("%s, %s, at %s: %s for %lld s, %s for %lld s: %s %s %s", standby_names[s->standby], kind_names[s->kind],
					   job_phase_name(s->at), loss_names[s->losses[0]], (long long)away_ms[s->away[0]] / 1000, loss_names[s->losses[1]],
					   (long long)away_ms[s->away[1]] / 1000, w->phase, w->reason, w->message);
	cr_assert(stored_is_final(w), "it ends: %s", about);
	cr_assert_eq(w->profiled_after_report, 0, "profiled again after there was a report: %s", about);
	bool succeeded = strcmp(w->phase, "Succeeded") == 0 || (w->canceled && strcmp(w->phase, "Canceled") == 0 && !w->message[0]);
	if (w->report_written && !may_be_given_up(s))
		cr_assert(w->delivered && succeeded, "lost: %s", about);
	if (w->report_written && !(w->delivered && succeeded))
		cr_assert(strcmp(w->reason, REASON_AgentLost) == 0 || strstr(w->message, "did not confirm"), "named: %s", about);
}

static void play(const struct scene *s)
{
	struct world w = {.scene = s, .loss_ms = NEVER, .leader = REPLICAS};
	for (size_t i = 0; i < (s->standby == ALONE ? 1 : REPLICAS); i++)
		start_replica(&w, i);
	w.replicas[1].sees = s->standby != BLIND;
	write_api(&w, NULL);
	bool was_up = true;
	for (; w.now_ms < 1000000000 && !stored_is_final(&w); w.now_ms += STEP_MS) {
		if (is_up(&w) && !was_up)
			restart_agent(&w);
		was_up = is_up(&w);
		run_election(&w);
		run_links(&w);
		run_agent(&w);
		run_leader(&w);
		lose_in_time(&w);
	}
	judge(&w);
	for (size_t i = 0; i < REPLICAS; i++)
		session_cache_free(w.replicas[i].cache);
}

static bool comes_back(enum loss l)
{
	return l != NOTHING && l != POD && l != CANCEL;
}

static void play_losses(struct scene *s)
{
	for (int i = 0; i < LOSS_COUNT * LOSS_COUNT; i++) {
		s->losses[0] = (enum loss)(i / LOSS_COUNT);
		s->losses[1] = (enum loss)(i % LOSS_COUNT);
		for (s->away[0] = 0; s->away[0] < (comes_back(s->losses[0]) ? AWAYS : 1); s->away[0]++) {
			for (s->away[1] = 0; s->away[1] < (comes_back(s->losses[1]) ? AWAYS : 1); s->away[1]++)
				play(s);
		}
	}
}

static void play_all(enum standby standby)
{
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		for (int at = JOB_QUEUED; at <= JOB_DELIVERING; at++) {
			struct scene s = {.standby = standby, .kind = (enum kind)kind, .at = (enum job_phase)at};
			play_losses(&s);
		}
	}
}

Test(report_survives, with_one_replica, .timeout = 300)
{
	play_all(ALONE);
}

Test(report_survives, with_a_standby_that_has_heard_of_the_job, .timeout = 300)
{
	play_all(HEARD);
}

Test(report_survives, with_a_standby_that_is_not_linked, .timeout = 300)
{
	play_all(UNLINKED);
}

Test(report_survives, with_a_standby_whose_watch_is_behind, .timeout = 300)
{
	play_all(BLIND);
}
