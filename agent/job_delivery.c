/* Delivers a job's reports: asks the leader where to, sends the file, again and again until it is there or too late. */
#include "agent/jobs_private.h"
#include "agent/link_policy.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_TIMEOUT_MS 15000
#define STALL_TIMEOUT_MS 30000

/* The next report that the store does not have; NULL: all delivered. With the lock held. */
static struct link_report *next_report(struct job *job)
{
	for (size_t i = 0; i < job->state.report_count; i++) {
		if (!job->state.reports[i].delivered)
			return &job->state.reports[i];
	}
	return NULL;
}

static bool must_end(const struct jobs *j, const struct job *job)
{
	return j->stopping || job->stopped || job->forget;
}

/* Asks and waits. 0: *url is set (the caller frees it). */
static int ask(struct jobs *j, struct job *job, const struct link_report *r, char **url, struct err *e)
{
	struct link_msg m = {.type = LINK_MSG_UPLOAD_REQUEST};
	memcpy(m.job_id, job->order.job_id, sizeof m.job_id);
	m.u.upload_request.report = *r;
	pthread_mutex_lock(&j->lock);
	job->answer.come = false;
	pthread_mutex_unlock(&j->lock);
	if (j->config.send(j->config.ctx, &m, e) < 0)
		return -1;
	int64_t until = clock_mono_ms() + ANSWER_TIMEOUT_MS;
	pthread_mutex_lock(&j->lock);
	struct job_answer *a = &job->answer;
	bool mine;
	while (!(mine = a->come && strcmp(a->report_name, r->name) == 0) && !must_end(j, job) && clock_mono_ms() < until)
		jobs_wait(j, until);
	int rc = -1;
	if (!mine)
		err_set(e, ERR_RETRY, 0, "the controller did not say where to put %s", r->name);
	else if (!a->granted)
		err_set_reason(e, a->retry ? ERR_RETRY : ERR_INVALID, a->reason ? a->reason : REASON_UploadFailed, "%s", a->message ? a->message : "");
	else
		rc = 0;
	if (rc == 0)
		*url = steal_ptr(&a->url);
	a->come = false;
	pthread_mutex_unlock(&j->lock);
	return rc;
}

/* The controller's own store is behind the link's certificate, object storage behind one of the installation's. */
static const char *ca_file_for(const struct jobs *j, const char *url)
{
	const char *own = j->config.own_store_url;
	return own && strncmp(url, own, strlen(own)) == 0 ? j->config.own_store_ca_file : j->config.upload_ca_file;
}

static int send_file(struct jobs *j, struct job *job, const struct link_report *r, const char *url, struct err *e)
{
	AUTO_FD int dirfd = spool_job_open(j->config.spool, job->order.job_id, e);
	if (dirfd < 0)
		return -1;
	AUTO_FD int fd = openat(dirfd, r->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_set(e, ERR_INVALID, 0, "the report %s is no longer in the spool", r->name);
	struct upload_options options = {
		.ca_file = ca_file_for(j, url),
		.stall_timeout_ms = STALL_TIMEOUT_MS,
		.cancel_fd = -1,
	};
	return j->config.operations->upload(url, fd, r, &options, e);
}

static int deliver_one(struct jobs *j, struct job *job, const struct link_report *r, struct err *e)
{
	AUTO_FREE char *url = NULL;
	if (ask(j, job, r, &url, e) < 0)
		return -1;
	return send_file(j, job, r, url, e);
}

/* What the end will be was noted in the reason: it is the one thing that the spool keeps beside the phase. */
static void end(struct jobs *j, struct job *job, bool delivered, const char *reason, const char *message)
{
	pthread_mutex_lock(&j->lock);
	struct link_job *s = &job->state;
	bool canceled = s->reason && strcmp(s->reason, REASON_Delivering) != 0;
	s->completed_wall_ms = clock_wall_ms();
	if (!delivered) {
		s->phase = JOB_FAILED;
		jobs_say(job, reason, message);
	} else {
		s->phase = canceled ? JOB_CANCELED : JOB_SUCCEEDED;
		AUTO_FREE char *kept = mem_strdup(canceled ? s->message : NULL);
		AUTO_FREE char *kept_reason = mem_strdup(canceled ? s->reason : REASON_Completed);
		jobs_say(job, kept_reason, kept);
	}
	jobs_touch(j, job);
	pthread_mutex_unlock(&j->lock);
	job_save(j, job);
	jobs_tell(j);
}

/* A failure that another try may mend: says so in the state, waits; a leader that links anew ends the wait. */
static void back_off(struct jobs *j, struct job *job, int failures, const struct err *e)
{
	int64_t until = clock_mono_ms() + link_backoff_ms(failures, (uint32_t)clock_mono_ns());
	bool news = false;
	pthread_mutex_lock(&j->lock);
	uint64_t seen = j->leader_changes;
	struct link_job *s = &job->state;
	if (s->reason && strcmp(s->reason, REASON_Delivering) == 0 && (!s->message || strcmp(s->message, e->message) != 0)) {
		jobs_say(job, REASON_Delivering, e->message);
		jobs_touch(j, job);
		news = true;
	}
	pthread_mutex_unlock(&j->lock);
	if (news)
		jobs_tell(j);
	pthread_mutex_lock(&j->lock);
	while (j->leader_changes == seen && !must_end(j, job) && clock_mono_ms() < until)
		jobs_wait(j, until);
	pthread_mutex_unlock(&j->lock);
}

static bool take_next(struct jobs *j, struct job *job, struct link_report *out, bool *ended)
{
	pthread_mutex_lock(&j->lock);
	*ended = must_end(j, job);
	const struct link_report *r = next_report(job);
	if (r)
		*out = *r;
	pthread_mutex_unlock(&j->lock);
	return r && !*ended;
}

static void mark_delivered(struct jobs *j, struct job *job, const char *name)
{
	pthread_mutex_lock(&j->lock);
	for (size_t i = 0; i < job->state.report_count; i++) {
		if (strcmp(job->state.reports[i].name, name) == 0)
			job->state.reports[i].delivered = true;
	}
	bool more = next_report(job) != NULL;
	if (more)
		jobs_touch(j, job); /* the last one is told with the end */
	pthread_mutex_unlock(&j->lock);
	if (more)
		jobs_tell(j);
}

static bool is_hopeless(const struct err *e)
{
	return e->kind == ERR_INVALID || e->kind == ERR_NOT_FOUND;
}

void job_delivery_run(struct jobs *j, struct job *job)
{
	pthread_mutex_lock(&j->lock);
	bool delivers = job->state.phase == JOB_DELIVERING;
	int64_t began = job->state.started_wall_ms;
	pthread_mutex_unlock(&j->lock);
	if (!delivers)
		return;
	/* Counted from the session, not from this agent's start. */
	int64_t age = began ? clock_wall_ms() - began : 0;
	int64_t give_up = clock_mono_ms() + j->config.delivery_bound_ms - age;
	struct link_report r;
	bool ended = false;
	int failures = 0;
	while (take_next(j, job, &r, &ended)) {
		struct err e = ERR_INIT;
		if (deliver_one(j, job, &r, &e) == 0) {
			failures = 0;
			mark_delivered(j, job, r.name);
			continue;
		}
		LOG_WARN("jobs", "a report is not delivered yet", LOG_S("job", job->order.job_id[0] ? job->order.job_id : ""),
			 LOG_S("report", r.name[0] ? r.name : ""), LOG_S("error", e.kind ? e.message : ""));
		if (is_hopeless(&e)) {
			end(j, job, false, e.reason ? e.reason : REASON_UploadFailed, e.message);
			return;
		}
		if (clock_mono_ms() >= give_up) {
			end(j, job, false, REASON_DeliveryExpired, e.message);
			return;
		}
		back_off(j, job, ++failures, &e);
	}
	if (!ended)
		end(j, job, true, NULL, NULL);
}
