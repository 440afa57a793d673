#include "agent/jobs/jobs.h"

#include "agent/jobs/jobs_private.h"
#include "agent/profilers/profilers.h"
#include "agent/session/session_ending.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/base/thread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define DEFAULT_MAX_RUNNING 2
#define SHOWN_MESSAGE_BYTES 4096 /* a message, when each of its bytes is shown as an escape */
#define NO_DEADLINE_MS (365LL * 24 * 3600 * 1000)
#define RESTART_MARGIN_MS 5000 /* for finding and attaching, when a cut session is started again */

const struct jobs_operations jobs_real_operations = {
	.discover = discover_targets,
	.run = profilers_run,
	.upload = upload_put,
};

void jobs_touch(struct jobs *j, struct job *job)
{
	job_table_changed(&j->table, job);
	job_table_renumber(&j->table);
	pthread_cond_broadcast(&j->changed);
}

void jobs_tell(struct jobs *j)
{
	if (j->config.changed)
		j->config.changed(j->config.ctx);
}

void jobs_say(struct job *job, const char *reason, const char *message)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, SHOWN_MESSAGE_BYTES);
	if (message) /* it may hold a pod's words, and people read it in terminals */
		text_append_printable(&shown, message, strlen(message));
	char *r = mem_strdup(reason), *m = message ? buf_steal(&shown) : NULL;
	free(job->state.reason);
	free(job->state.message);
	job->state.reason = r;
	job->state.message = m;
}

int64_t jobs_wall_ms(const struct job *job)
{
	const struct link_job *s = &job->state;
	int64_t now = clock_wall_ms(), last = s->started_wall_ms > s->first_sample_wall_ms ? s->started_wall_ms : s->first_sample_wall_ms;
	return now > last ? now : last;
}

void jobs_wait(struct jobs *j, int64_t until_ms)
{
	thread_cond_wait_until(&j->changed, &j->lock, until_ms);
}

/* A job that waits for its turn, or fails before it, has no folder yet. */
static int save(struct spool *s, const struct link_order *o, const struct link_job *state, struct err *e)
{
	AUTO_FD int fd = spool_job_open(s, o->job_id, NULL);
	if (fd < 0)
		fd = spool_job_create(s, o->job_id, e);
	return fd < 0 ? -1 : spool_job_save(s, o->job_id, o, state, e);
}

void job_save(struct jobs *j, struct job *job)
{
	struct link_job state;
	pthread_mutex_lock(&j->lock);
	link_job_copy(&state, &job->state);
	pthread_mutex_unlock(&j->lock);
	struct err e = ERR_INIT;
	/* The order does not change after its arrival, so it is read without the lock. */
	if (save(j->config.spool, &job->order, &state, &e) < 0)
		LOG_WARN("jobs", "a job's state cannot be kept over a restart", LOG_S("job", job->order.job_id[0] ? job->order.job_id : ""),
			 LOG_S("error", e.kind ? e.message : ""));
	link_job_fini(&state);
}

/* Orders ---------------------------------------------------------------------------------------------------------- */

/* Starts the job's thread; a job that cannot even get a thread fails. The lock is held. */
static void launch(struct jobs *j, struct job *job)
{
	job->waiting = job->state.phase == JOB_QUEUED;
	job->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	job->abort_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int64_t left = job->order.deadline_wall_ms ? job->order.deadline_wall_ms - clock_wall_ms() : NO_DEADLINE_MS;
	job->deadline_mono_ms = clock_mono_ms() + (left > NO_DEADLINE_MS ? NO_DEADLINE_MS : left);
	job->active = true;
	if (job_worker_start(j, job) == 0) {
		j->threads++;
	} else {
		job->active = job->waiting = false;
		job->state.phase = JOB_FAILED;
		jobs_say(job, REASON_InternalError, "the agent cannot start a thread for this job");
	}
	jobs_touch(j, job);
}

/* Answers an order that becomes no job. When nobody takes the answer, the order comes again. */
static void refuse_order(struct jobs *j, const struct link_order *o, const char *reason, const char *message)
{
	struct link_msg m = {.type = LINK_MSG_JOB};
	memcpy(m.u.job.job_id, o->job_id, sizeof m.u.job.job_id);
	m.u.job.phase = JOB_FAILED;
	m.u.job.session_namespace = mem_strdup(o->session_namespace);
	m.u.job.session_name = mem_strdup(o->session_name);
	m.u.job.reason = mem_strdup(reason);
	m.u.job.message = mem_strdup(message);
	m.u.job.completed_wall_ms = clock_wall_ms();
	j->config.send(j->config.ctx, &m, NULL);
	link_msg_fini(&m);
}

/* The controller's clock may differ from this node's. */
static void use_own_clock(struct link_order *o)
{
	if (o->left_ms)
		o->deadline_wall_ms = clock_wall_ms() + o->left_ms;
	o->left_ms = 0;
}

void jobs_order(struct jobs *j, const struct link_order *o)
{
	if (o->spec_error[0]) {
		AUTO_FREE char *message = mem_printf("the node's agent " DRDOTNET_VERSION " does not understand the order: %s", o->spec_error);
		refuse_order(j, o, REASON_AgentTooOld, message);
		return;
	}
	pthread_mutex_lock(&j->lock);
	struct job *job = job_table_find(&j->table, o->job_id);
	bool forgotten = job_table_was_forgotten(&j->table, o->job_id);
	bool refused = false;
	if (job) {
		job_table_changed(&j->table, job); /* answered with its state */
	} else if (!forgotten && !j->stopping) {
		job = job_table_add(&j->table, o);
		refused = !job;
		if (job) {
			use_own_clock(&job->order);
			launch(j, job);
		}
	}
	pthread_mutex_unlock(&j->lock);
	if (refused)
		refuse_order(j, o, REASON_SpoolFull, "the agent already has as many jobs as it keeps, with those whose reports wait for the store");
	else if (forgotten && !job)
		LOG_INFO("jobs", "a late copy of an order is ignored", LOG_S("job", o->job_id[0] ? o->job_id : ""));
	jobs_tell(j);
}

static void make_readable(int event_fd)
{
	if (event_fd >= 0 && eventfd_write(event_fd, 1) < 0) {
		/* it is readable already */
	}
}

static void end_job_early(struct job *job)
{
	make_readable(job->cancel_fd);
}

void jobs_cancel(struct jobs *j, const char *job_id)
{
	pthread_mutex_lock(&j->lock);
	struct job *job = job_table_find(&j->table, job_id);
	if (job && !job_phase_is_final(job->state.phase)) {
		job->canceled = true;
		end_job_early(job);
		pthread_cond_broadcast(&j->changed);
	}
	pthread_mutex_unlock(&j->lock);
}

/* The job's thread removes its files and then the job. One that still runs (its session was deleted) is ended first; one that is over gets a thread
 * for it. Where there is none to be had the controller asks again. */
void jobs_forget(struct jobs *j, const char *job_id)
{
	pthread_mutex_lock(&j->lock);
	struct job *job = job_table_find(&j->table, job_id);
	if (job && job->active) {
		job->forget = job->canceled = true;
		end_job_early(job);
		make_readable(job->abort_fd);
		pthread_cond_broadcast(&j->changed);
	} else if (job && job_worker_start(j, job) == 0) {
		job->forget = job->active = true;
		j->threads++;
	}
	pthread_mutex_unlock(&j->lock);
}

void jobs_upload_answer(struct jobs *j, const struct link_msg *m)
{
	pthread_mutex_lock(&j->lock);
	struct job *job = job_table_find(&j->table, m->job_id);
	if (job) {
		struct job_answer *a = &job->answer;
		free(a->url);
		free(a->message);
		*a = (struct job_answer){.come = true, .granted = m->type == LINK_MSG_UPLOAD_GRANT};
		if (a->granted) {
			memcpy(a->report_name, m->u.upload_grant.report_name, sizeof a->report_name);
			a->url = mem_strdup(m->u.upload_grant.url);
			a->place = m->u.upload_grant.place;
		} else {
			memcpy(a->report_name, m->u.upload_denied.report_name, sizeof a->report_name);
			a->retry = m->u.upload_denied.retry;
			a->message = mem_strdup(m->u.upload_denied.message);
			a->reason = m->u.upload_denied.reason ? reason_intern(m->u.upload_denied.reason) : NULL;
		}
		pthread_cond_broadcast(&j->changed);
	}
	pthread_mutex_unlock(&j->lock);
}

void jobs_leader_linked(struct jobs *j)
{
	pthread_mutex_lock(&j->lock);
	j->leader_changes++;
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->lock);
}

bool jobs_next(struct jobs *j, uint64_t *version, struct link_job *out)
{
	pthread_mutex_lock(&j->lock);
	const struct job *job = job_table_next(&j->table, *version);
	if (job) {
		*version = job->version;
		link_job_copy(out, &job->state);
	}
	pthread_mutex_unlock(&j->lock);
	return job != NULL;
}

size_t jobs_count(struct jobs *j)
{
	pthread_mutex_lock(&j->lock);
	size_t count = j->table.count;
	pthread_mutex_unlock(&j->lock);
	return count;
}

/* Life ------------------------------------------------------------------------------------------------------------ */

/* A session that the agent's death has cut short starts again when there is time; what was written is delivered. */
static void resume_job(struct jobs *j, const struct link_order *o, struct link_job *state)
{
	struct job *job = job_table_add(&j->table, o);
	if (!job)
		return;
	int64_t needed = o->spec.duration_seconds * 1000 + RESTART_MARGIN_MS;
	bool has_time = !o->deadline_wall_ms || o->deadline_wall_ms - clock_wall_ms() > needed;
	link_job_fini(&job->state);
	link_job_copy(&job->state, state);
	if (job_phase_is_final(state->phase)) {
		jobs_touch(j, job);
		return;
	}
	if (state->phase != JOB_DELIVERING && !has_time) {
		job->state.phase = JOB_FAILED;
		job->state.completed_wall_ms = clock_wall_ms();
		jobs_say(job, REASON_AgentLost, "the agent was restarted during the session, and its deadline leaves no time to start again");
		jobs_touch(j, job);
		return;
	}
	if (state->phase != JOB_DELIVERING) {
		job->state.phase = JOB_QUEUED;
		job->state.report_count = 0;
		jobs_say(job, REASON_Queued, "the agent was restarted during the session, which starts again");
		job->resumed = true;
	}
	launch(j, job);
}

static void load_spool(struct jobs *j)
{
	char **ids = NULL;
	size_t count = spool_list(j->config.spool, &ids);
	for (size_t i = 0; i < count; i++) {
		struct link_order order = {0};
		struct link_job state = {0};
		struct err e = ERR_INIT;
		if (spool_job_load(j->config.spool, ids[i], &order, &state, &e) == 0) {
			resume_job(j, &order, &state);
			session_spec_fini(&order.spec);
			link_job_fini(&state);
		} else {
			LOG_WARN("jobs", "a torn job is removed", LOG_S("job", ids[i]), LOG_S("error", e.kind ? e.message : ""));
			spool_job_remove(j->config.spool, ids[i]);
		}
		free(ids[i]);
	}
	free(ids);
}

struct jobs *jobs_new(const struct jobs_config *c)
{
	struct jobs *j = mem_alloc(sizeof *j);
	j->config = *c;
	if (!j->config.operations)
		j->config.operations = &jobs_real_operations;
	if (!j->config.delivery_bound_ms)
		j->config.delivery_bound_ms = JOBS_DELIVERY_BOUND_MS;
	j->table.max_running = c->max_running ? c->max_running : DEFAULT_MAX_RUNNING;
	pthread_mutex_init(&j->lock, NULL);
	thread_cond_init(&j->changed);
	pthread_mutex_lock(&j->lock);
	load_spool(j);
	pthread_mutex_unlock(&j->lock);
	return j;
}

void jobs_stop(struct jobs *j)
{
	session_ending_agent_stops();
	pthread_mutex_lock(&j->lock);
	j->stopping = true;
	for (size_t i = 0; i < j->table.count; i++) {
		j->table.jobs[i]->stopped = true;
		end_job_early(j->table.jobs[i]);
		make_readable(j->table.jobs[i]->abort_fd);
	}
	pthread_cond_broadcast(&j->changed);
	while (j->threads)
		pthread_cond_wait(&j->changed, &j->lock);
	pthread_mutex_unlock(&j->lock);
}

void jobs_free(struct jobs *j)
{
	if (!j)
		return;
	jobs_stop(j);
	while (j->table.count)
		job_table_remove(&j->table, j->table.jobs[0], false);
	pthread_cond_destroy(&j->changed);
	pthread_mutex_destroy(&j->lock);
	free(j);
}
