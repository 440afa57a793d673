/* One job's thread: wait for the turn, find the process, run the session, hand over to the delivery. */
#include "agent/jobs/jobs_private.h"
#include "agent/profilers/profilers.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/step.h"
#include "common/base/thread.h"

#include <stdlib.h>
#include <string.h>

#define STACK_BYTES (1024 * 1024)
#define DISCOVERY_MS 20000
#define LIVE_MS 10000
#define ANSWER_MS 15000 /* a container at its CPU limit gets a slice of time now and then */

struct worker {
	struct jobs *jobs;
	struct job *job;
	int64_t live_ms; /* when the session's words were told last; monotonic */
};

/* Ends the job with this phase. */
static void finish_job(struct jobs *j, struct job *job, enum job_phase phase, const char *reason, const char *message)
{
	pthread_mutex_lock(&j->lock);
	job->state.phase = phase;
	job->state.completed_wall_ms = jobs_wall_ms(job);
	jobs_say(job, reason, message);
	jobs_touch(j, job);
	pthread_mutex_unlock(&j->lock);
	job_save(j, job);
	jobs_tell(j);
}

static void fail_job(struct jobs *j, struct job *job, const struct err *e)
{
	finish_job(j, job, JOB_FAILED, reason_of_err(e), e->message);
}

static void set_phase(struct jobs *j, struct job *job, enum job_phase phase, const char *reason)
{
	pthread_mutex_lock(&j->lock);
	job->state.phase = phase;
	jobs_say(job, reason, NULL);
	jobs_touch(j, job);
	pthread_mutex_unlock(&j->lock);
	jobs_tell(j);
}

/* The turn -------------------------------------------------------------------------------------------------------- */

enum turn { TURN_COME, TURN_CANCELED, TURN_TOO_LATE, TURN_STOPPED, TURN_NONE };

static enum turn wait_turn(struct jobs *j, struct job *job)
{
	int64_t deadline = job->deadline_mono_ms;
	enum turn turn;
	bool saved = false;
	pthread_mutex_lock(&j->lock);
	job->waiting = true;
	for (;;) {
		turn = job->stopped	? TURN_STOPPED
		       : job->canceled	? TURN_CANCELED
		       : clock_mono_ms() >= deadline ? TURN_TOO_LATE
						     : TURN_COME;
		if (turn != TURN_COME || job_table_may_start(&j->table, job))
			break;
		if (job_table_is_start(job)) {
			turn = TURN_NONE;
			break;
		}
		if (!saved) {
			/* Who starts at once is saved when samples flow: the disk must not delay the first one. */
			saved = true;
			job_table_renumber(&j->table); /* one that a process has sent back has no place yet */
			pthread_mutex_unlock(&j->lock);
			job_save(j, job);
			jobs_tell(j);
			pthread_mutex_lock(&j->lock);
			continue;
		}
		jobs_wait(j, deadline);
	}
	job->waiting = false;
	if (turn == TURN_COME) {
		job->has_slot = true;
		j->table.running++;
	}
	jobs_touch(j, job);
	pthread_mutex_unlock(&j->lock);
	return turn;
}

static void release_slot(struct jobs *j, struct job *job)
{
	pthread_mutex_lock(&j->lock);
	if (job->has_slot)
		j->table.running--;
	job->has_slot = false;
	job->process[0] = '\0';
	jobs_touch(j, job);
	pthread_mutex_unlock(&j->lock);
}

/* The process ----------------------------------------------------------------------------------------------------- */

static const char *wanted_container(const struct link_order *o, struct err *e)
{
	const char *name = o->spec.target.container;
	for (size_t i = 0; name && i < o->container_count; i++) {
		if (strcmp(o->containers[i].name, name) == 0 && o->containers[i].id[0])
			return o->containers[i].id;
	}
	if (name)
		err_set_reason(e, ERR_NOT_FOUND, REASON_ProcessNotFound, "the pod has no running container '%s'", name);
	return NULL;
}

/* Nothing in the pod is .NET, as far as this mode of the agent can see. */
static int refuse_empty(const struct jobs *j, const struct link_order *o, int64_t opened_late_s, struct err *e)
{
	char opened[CLOCK_RFC3339_SIZE];
	if (j->config.mode == AGENT_MODE_HOST_PID)
		return err_set_reason(e, ERR_NOT_FOUND, REASON_NoDotnetProcess, "none of the processes of pod %s is a .NET process", o->pod_name);
	if (opened_late_s)
		return err_set_reason(e, ERR_NOT_FOUND, REASON_NoDotnetProcess, "/tmp of pod %s could not be written before %s, restart the pod if it is older",
				      o->pod_name, clock_rfc3339(opened_late_s * 1000, opened));
	return err_set_reason(e, ERR_NOT_FOUND, REASON_NoDotnetProcess,
			      "no diagnostics socket is in the folder that pod %s shares with the agent as its /tmp", o->pod_name);
}

/* For messages: people know containers by their names. */
static void name_containers(const struct link_order *o, struct target_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct target *t = &list->items[i];
		for (size_t c = 0; t->container_id && !t->container_name && c < o->container_count; c++) {
			if (strcmp(o->containers[c].id, t->container_id) == 0)
				t->container_name = mem_strdup(o->containers[c].name);
		}
	}
}

/* The container's name by its id; else by its folder; else the only one that it can be. NULL: nobody knows. */
static const char *order_container_name(const struct link_order *o, const struct target *t)
{
	for (size_t i = 0; t->container_id && i < o->container_count; i++) {
		if (strcmp(o->containers[i].id, t->container_id) == 0)
			return o->containers[i].name;
	}
	return t->container_id ? t->container_id : t->container_name ? t->container_name : o->container_count == 1 ? o->containers[0].name : NULL;
}

/* Without a common pid namespace the order tells which container it is: the one of its name, else the only one. */
static void learn_container(const struct link_order *o, struct target *t)
{
	const char *name = order_container_name(o, t);
	for (size_t i = 0; !t->container_id && name && i < o->container_count; i++) {
		if (strcmp(o->containers[i].name, name) == 0 && o->containers[i].id[0])
			t->container_id = mem_strdup(o->containers[i].id);
	}
	if (!t->pod_uid && o->pod_uid[0])
		t->pod_uid = mem_strdup(o->pod_uid);
}

/* One that the library cannot be attached to will do for who needs it for names only, where it is the only one. */
static ssize_t choose_process(const struct link_order *o, const char *container_id, struct target_list *l, struct err *e)
{
	const struct session_target *wanted = &o->spec.target;
	struct err why = ERR_INIT;
	ssize_t chosen = target_choose(l, container_id, wanted->entrypoint, wanted->pid, &why);
	if (chosen < 0 && target_list_admit(l, why.reason, profilers_work_without(o->spec.profiler)))
		return target_choose(l, container_id, wanted->entrypoint, wanted->pid, e);
	if (chosen < 0)
		*e = why;
	return chosen;
}

static int find_process(struct jobs *j, struct job *job, struct target *out, struct err *e)
{
	const struct link_order *o = &job->order;
	const char *ids[LINK_MAX_CONTAINERS], *wanted = NULL, *const names[] = {o->spec.target.container};
	size_t count = 0;
	/* Without a common pid namespace a pod's containers are told apart by folders of their own, if at all. */
	bool host = j->config.mode == AGENT_MODE_HOST_PID;
	if (host && o->spec.target.container && !(wanted = wanted_container(o, e)))
		return -1;
	for (size_t i = 0; i < o->container_count; i++) {
		if (o->containers[i].id[0] && (!wanted || o->containers[i].id == wanted))
			ids[count++] = o->containers[i].id;
	}
	struct discover_options options = {
		.mode = j->config.mode,
		.proc_root = j->config.proc_root,
		.shared_parent = j->config.shared_parent,
		.pod_uid = o->pod_uid,
		.pod_namespace = o->pod_namespace,
		.pod_name = o->pod_name,
		.container_ids = count ? ids : NULL,
		.container_id_count = count,
		.container_names = !host && names[0] ? names : NULL,
		.container_name_count = 1,
		.query_runtime = true,
		.answer_ms = ANSWER_MS,
		.deadline_ms = clock_mono_ms() + DISCOVERY_MS,
	};
	struct target_list list = {0};
	if (j->config.operations->discover(&options, &list, e) < 0 || (list.count == 0 && host && job_find_restarted(j, job, &options, &list, e) < 0))
		return -1;
	if (list.count == 0)
		return refuse_empty(j, o, list.opened_late_s, e);
	name_containers(o, &list);
	ssize_t chosen = choose_process(o, wanted, &list, e);
	if (chosen >= 0)
		target_copy(out, &list.items[chosen]);
	if (chosen >= 0 && !host)
		learn_container(o, out);
	target_list_fini(&list);
	return chosen < 0 ? -1 : 0;
}

/* Whose session has the process, and for how long: a new string. It is one of the same pod, thus of the same namespace. */
static char *say_holder(const struct job_table *t, const char *process)
{
	char until[CLOCK_RFC3339_SIZE];
	const struct job *holder = job_table_holder(t, process);
	int64_t started = holder ? holder->state.started_wall_ms : 0;
	if (!started)
		return mem_printf("session %s is about to profile this process", holder ? holder->order.session_name : "(another one)");
	return mem_printf("session %s profiles this process until about %s", holder->order.session_name,
			  clock_rfc3339(started + holder->order.spec.duration_seconds * 1000, until));
}

/* Notes what was found, and takes the process. false: another job has it; this one waits for it. */
static bool claim(struct jobs *j, struct job *job, const struct target *t)
{
	AUTO_FREE char *key = mem_printf("%d:%llu:%s:%d", (int)t->pid, (unsigned long long)t->start_time, t->shared_folder ? t->shared_folder : "",
					 (int)t->inner_pid);
	pthread_mutex_lock(&j->lock);
	bool mine = job_table_claim_process(&j->table, job, key);
	struct link_job *s = &job->state;
	free(s->container);
	free(s->container_id);
	free(s->runtime_version);
	s->container = mem_strdup(order_container_name(&job->order, t));
	s->container_id = mem_strdup(t->container_id);
	s->runtime_version = mem_strdup(t->runtime_version);
	s->pid = t->inner_pid;
	if (!mine) {
		snprintf(job->blocked_by, sizeof job->blocked_by, "%s", key);
		s->phase = JOB_QUEUED;
		AUTO_FREE char *why = say_holder(&j->table, key);
		jobs_say(job, REASON_Queued, why);
	}
	jobs_touch(j, job);
	pthread_mutex_unlock(&j->lock);
	return mine;
}

/* The session ----------------------------------------------------------------------------------------------------- */

static const char *job_phase_reason(enum job_phase phase)
{
	return phase == JOB_PREPARING ? REASON_Preparing : phase == JOB_PROFILING ? REASON_Profiling : REASON_Analyzing;
}

/* What is seen so far goes into the session's status now and then. With the lock held. */
static bool tell_live(struct worker *t, const struct session_progress *p)
{
	struct link_job *s = &t->job->state;
	int64_t now_ms = clock_mono_ms();
	if (p->phase != JOB_PROFILING || !p->live || !p->live[0] || now_ms - t->live_ms < LIVE_MS || (s->message && strcmp(s->message, p->live) == 0))
		return false;
	t->live_ms = now_ms;
	jobs_say(t->job, REASON_Profiling, p->live);
	return true;
}

static void update_job_progress(void *ctx, const struct session_progress *p)
{
	struct worker *t = ctx;
	struct job *job = t->job;
	struct link_job *s = &job->state;
	if (p->phase > JOB_ANALYZING)
		return; /* ends are said by the outcome */
	pthread_mutex_lock(&t->jobs->lock);
	bool first = p->first_sample_wall_ms && !s->first_sample_wall_ms;
	bool news = p->phase != s->phase || first;
	bool flows = news && p->phase == JOB_PROFILING && !s->started_wall_ms;
	if (flows)
		s->started_wall_ms = clock_wall_ms();
	if (first)
		s->first_sample_wall_ms = p->first_sample_wall_ms;
	if (p->phase != s->phase)
		jobs_say(job, job_phase_reason(p->phase), NULL);
	s->phase = p->phase;
	bool told = tell_live(t, p);
	pthread_mutex_unlock(&t->jobs->lock);
	if (!news && !told)
		return;
	/* Kept before it is told: what the controller believes to run is known to the next agent. */
	if (flows)
		job_save(t->jobs, job);
	pthread_mutex_lock(&t->jobs->lock);
	jobs_touch(t->jobs, job);
	pthread_mutex_unlock(&t->jobs->lock);
	jobs_tell(t->jobs);
}

/* The agent's own end has cut the session off before there was anything to report: the next agent starts it again. With the
 * lock held. */
static void send_back(struct jobs *j, struct job *job)
{
	job->state.phase = JOB_QUEUED;
	jobs_say(job, REASON_Queued, "the agent was stopped before the first sample; the session starts again");
	jobs_touch(j, job);
}

/* With reports to deliver the job goes on as Delivering; its reason says which end it will have. */
static void note_job_outcome(struct jobs *j, struct job *job, const struct session_outcome *o)
{
	struct link_job *s = &job->state;
	bool delivers = o->report.report_count > 0; /* of a session that failed, too */
	pthread_mutex_lock(&j->lock);
	bool cut_off = o->phase == JOB_CANCELED && job->stopped && !job->canceled;
	if (cut_off && !delivers) {
		send_back(j, job);
		pthread_mutex_unlock(&j->lock);
		return;
	}
	s->phase = delivers ? JOB_DELIVERING : o->phase;
	free(s->headline);
	free(s->diagnosis);
	s->headline = mem_strdup(o->report.headline);
	s->diagnosis = mem_strdup(o->report.diagnosis);
	free(s->findings);
	s->findings = findings_copy(o->report.findings, o->report.finding_count);
	s->finding_count = o->report.finding_count;
	s->cost = o->cost;
	s->process_ended = o->process_ended;
	if (o->started_wall_ms)
		s->started_wall_ms = o->started_wall_ms;
	if (o->first_sample_wall_ms)
		s->first_sample_wall_ms = o->first_sample_wall_ms;
	if (!delivers)
		s->completed_wall_ms = jobs_wall_ms(job);
	memcpy(s->reports, o->report.reports, sizeof s->reports);
	s->report_count = o->report.report_count;
	jobs_say(job, delivers && o->phase == JOB_SUCCEEDED ? REASON_Delivering : o->reason, o->message);
	jobs_touch(j, job);
	pthread_mutex_unlock(&j->lock);
}

static void run_session(struct jobs *j, struct job *job, const struct target *t, bool answers, int dirfd)
{
	const struct link_order *o = &job->order;
	const char *container = order_container_name(o, t);
	struct report_context context = {
		.session_name = o->session_name,
		.session_namespace = o->session_namespace,
		.session_uid = o->session_uid,
		.requested_by = o->requested_by,
		.pod_name = o->pod_name,
		.container = container ? container : "",
		.node_name = j->config.node_name,
	};
	struct worker progress = {.jobs = j, .job = job};
	struct session_request request = {
		.spec = &o->spec,
		.target = t,
		.context = &context,
		.start = steal_ptr(&job->start),
		.unattached = !answers,
		.library_path = j->config.library_path,
		.out_dirfd = dirfd,
		.files_max = spool_left_bytes(j->config.spool),
		.cancel_fd = job->cancel_fd,
		.deadline_ms = job->deadline_mono_ms,
		.on_progress = update_job_progress,
		.progress_ctx = &progress,
	};
	struct session_outcome outcome = {0};
	j->config.operations->run(&request, &outcome);
	STEP("report");
	note_job_outcome(j, job, &outcome);
	if (outcome.left_behind && j->config.left_behind)
		j->config.left_behind(j->config.ctx);
	session_outcome_fini(&outcome);
}

enum attempt { ATTEMPT_DONE, ATTEMPT_BLOCKED };

static enum attempt attempt(struct jobs *j, struct job *job)
{
	struct err e = ERR_INIT;
	set_phase(j, job, JOB_PREPARING, REASON_Preparing);
	struct target target = {0};
	int found = job->start ? job_start_await(j, job, job->start, &target, &e) : find_process(j, job, &target, &e) < 0 ? -1 : 1;
	if (found < 0) {
		fail_job(j, job, &e);
		return ATTEMPT_DONE;
	}
	if (!claim(j, job, &target)) {
		target_fini(&target);
		if (!job->start)
			return ATTEMPT_BLOCKED;
		finish_job(j, job, JOB_FAILED, REASON_StartMissed, "another session holds the process of the container that started");
		return ATTEMPT_DONE;
	}
	STEP("chosen");
	AUTO_FD int dirfd = spool_job_create(j->config.spool, job->order.job_id, &e);
	if (dirfd < 0)
		fail_job(j, job, &e);
	else
		run_session(j, job, &target, found, dirfd);
	target_fini(&target);
	return ATTEMPT_DONE;
}

static void profile_job(struct jobs *j, struct job *job)
{
	enum attempt result;
	const char *missed = job_table_is_start(job) ? job_start_claim(j, job) : NULL;
	if (missed) {
		finish_job(j, job, JOB_FAILED, REASON_StartMissed, missed);
		return;
	}
	do {
		switch (wait_turn(j, job)) {
		case TURN_STOPPED:
			job_save(j, job); /* it waits in the spool for the next agent */
			return;
		case TURN_CANCELED:
			finish_job(j, job, JOB_CANCELED, REASON_Canceled, "ended on request before it began");
			return;
		case TURN_TOO_LATE:
			finish_job(j, job, JOB_FAILED, REASON_DeadlineExceeded, "the budget of the node or the process was in use until the deadline");
			return;
		case TURN_NONE:
			finish_job(j, job, JOB_FAILED, REASON_StartMissed,
				   "the container started while the node had twice as many sessions as it has places (agent.maxSessions)");
			return;
		case TURN_COME:
			break;
		}
		result = attempt(j, job);
		release_slot(j, job);
	} while (result == ATTEMPT_BLOCKED);
	job_save(j, job);
	jobs_tell(j);
}

/* The thread ------------------------------------------------------------------------------------------------------ */

static void *run_job_thread(void *arg)
{
	struct worker t = *(struct worker *)arg;
	free(arg);
	struct jobs *j = t.jobs;
	pthread_mutex_lock(&j->lock);
	enum job_phase phase = t.job->state.phase;
	bool forget = t.job->forget;
	pthread_mutex_unlock(&j->lock);
	if (phase == JOB_QUEUED && !forget)
		profile_job(j, t.job);
	start_capture_free(t.job->start);
	t.job->start = NULL;
	if (!forget)
		job_delivery_run(j, t.job);
	pthread_mutex_lock(&j->lock);
	if (t.job->forget) {
		pthread_mutex_unlock(&j->lock); /* a disk that hangs keeps nobody waiting but this thread */
		STEP("forget");
		spool_job_remove(j->config.spool, t.job->order.job_id);
		pthread_mutex_lock(&j->lock);
		job_table_remove(&j->table, t.job, true);
	} else {
		t.job->active = false;
	}
	j->threads--;
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

int job_worker_start(struct jobs *j, struct job *job)
{
	struct worker *t = mem_alloc(sizeof *t);
	*t = (struct worker){.jobs = j, .job = job};
	if (thread_start(NULL, "job", STACK_BYTES, run_job_thread, t, NULL) == 0)
		return 0;
	free(t);
	return -1;
}
