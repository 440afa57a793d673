/* Delivers a job's reports: asks the leader where to, sends the file, again and again until it is there or too late. One report that
 * cannot be delivered does not keep the others back: after a failure another one comes first. */
#include "agent/jobs/jobs_private.h"
#include "agent/link/link_policy.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/step.h"
#include "common/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_TIMEOUT_MS 15000
#define STALL_TIMEOUT_MS 30000
#define UPLOAD_TIMEOUT_MS 3600000     /* a store that drips is no store */
#define RETRY_AFTER_MOST_MS 300000    /* a store that asks for longer is asked again all the same */
#define NOT_YET "; not delivered yet: "
#define LEAST_TRYING_MS 600000        /* an agent that starts late, or with a wrong clock, does not give up at its first failure */

struct delivery {
	struct jobs *jobs;
	struct job *job;
	size_t first;                 /* the report to look at first */
	bool lost[LINK_MAX_REPORTS];  /* no try will deliver it */
	struct err why_lost;          /* of the first one */
	int failures;                 /* since the last success */
	char *ended_as;               /* what is to be said of a session that did not end well; NULL: it did */
	char said[ERR_MESSAGE_SIZE];  /* the failure that stands in the state, but for the report's name; "" none */
	int64_t give_up_ms;           /* monotonic */
};

/* The next report that the store does not have; -1: none. With the lock held. */
static ssize_t next_report(const struct delivery *d)
{
	const struct link_job *s = &d->job->state;
	for (size_t i = 0; i < s->report_count; i++) {
		size_t at = (d->first + i) % s->report_count;
		if (!s->reports[at].delivered && !d->lost[at])
			return (ssize_t)at;
	}
	return -1;
}

static bool must_end(const struct jobs *j, const struct job *job)
{
	return j->stopping || job->stopped || job->forget;
}

/* Asks and waits. 0: *out is set; its url is the caller's to free. */
static int request_upload(struct jobs *j, struct job *job, const struct link_report *r, struct job_answer *out, struct err *e)
{
	struct link_msg m = {.type = LINK_MSG_UPLOAD_REQUEST};
	memcpy(m.job_id, job->order.job_id, sizeof m.job_id);
	m.u.upload_request.report = *r;
	pthread_mutex_lock(&j->lock);
	job->answer.come = false;
	pthread_mutex_unlock(&j->lock);
	if (j->config.send(j->config.ctx, &m, e) < 0)
		return -1;
	STEP("upload-asked");
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
		*out = (struct job_answer){.url = steal_ptr(&a->url), .place = a->place};
	a->come = false;
	pthread_mutex_unlock(&j->lock);
	return rc;
}

/* The controller's own store is behind the link's certificate, object storage behind one of the installation's. Older controllers do not
 * say which it is: theirs is told by its address. */
static const char *ca_file_for(const struct jobs *j, const struct job_answer *a)
{
	const char *own = j->config.own_store_url;
	bool is_own = a->place == LINK_PLACE_OWN_STORE || (a->place == LINK_PLACE_UNKNOWN && own && strncmp(a->url, own, strlen(own)) == 0);
	return is_own ? link_ca_file(j->config.own_store_ca) : j->config.upload_ca_file;
}

/* A crash of the node may have left a file of the right size with other bytes. */
static int check_report_content(int fd, const struct link_report *r, struct err *e)
{
	unsigned char digest[EVP_MAX_MD_SIZE], chunk[16384];
	char hex[65] = "";
	EVP_MD_CTX *hash = EVP_MD_CTX_new();
	ssize_t n = 0;
	EVP_DigestInit_ex(hash, EVP_sha256(), NULL);
	for (off_t at = 0; (n = pread(fd, chunk, sizeof chunk, at)) > 0; at += n)
		EVP_DigestUpdate(hash, chunk, (size_t)n);
	EVP_DigestFinal_ex(hash, digest, NULL);
	EVP_MD_CTX_free(hash);
	text_hex(digest, 32, hex);
	if (n == 0 && strcmp(hex, r->sha256) == 0)
		return 0;
	err_set_reason(e, ERR_INVALID, REASON_SpoolUnusable, "the report %s in the spool is damaged", r->name);
	return -1;
}

static int open_spooled_report(const struct jobs *j, const struct job *job, const struct link_report *r, struct err *e)
{
	AUTO_FD int dirfd = spool_job_open(j->config.spool, job->order.job_id, NULL);
	AUTO_FD int fd = dirfd < 0 ? -1 : openat(dirfd, r->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_set_reason(e, ERR_INVALID, REASON_SpoolUnusable, "the report %s is no longer in the spool", r->name);
	return check_report_content(fd, r, e) < 0 ? -1 : steal_fd(&fd);
}

static int deliver_one(struct jobs *j, struct job *job, const struct link_report *r, int64_t *retry_after_ms, struct err *e)
{
	AUTO_FD int fd = open_spooled_report(j, job, r, e);
	struct job_answer answer = {0};
	if (fd < 0 || request_upload(j, job, r, &answer, e) < 0)
		return -1;
	AUTO_FREE char *url = answer.url;
	struct upload_options options = {
		.ca_file = ca_file_for(j, &answer),
		.timeout_ms = UPLOAD_TIMEOUT_MS,
		.stall_timeout_ms = STALL_TIMEOUT_MS,
		.cancel_fd = job->abort_fd,
		.retry_after_ms = retry_after_ms,
	};
	STEP("upload");
	return j->config.operations->upload(url, fd, r, &options, e);
}

/* How the session ended was noted in the reason: it is the one thing that the spool keeps beside the phase. */
static enum job_phase end_after(const char *reason)
{
	if (!reason || strcmp(reason, REASON_Delivering) == 0)
		return JOB_SUCCEEDED;
	return strcmp(reason, REASON_Canceled) == 0 ? JOB_CANCELED : JOB_FAILED;
}

/* `reason`, `message`: why the delivery failed; NULL: it did not. */
static void end_delivery(struct delivery *d, const char *reason, const char *message)
{
	struct jobs *j = d->jobs;
	struct job *job = d->job;
	pthread_mutex_lock(&j->lock);
	struct link_job *s = &job->state;
	s->completed_wall_ms = jobs_wall_ms(job);
	if (reason) {
		s->phase = JOB_FAILED;
		jobs_say(job, reason, message);
	} else {
		s->phase = end_after(s->reason);
		jobs_say(job, s->phase == JOB_SUCCEEDED ? REASON_Completed : s->reason, d->ended_as);
	}
	jobs_touch(j, job);
	pthread_mutex_unlock(&j->lock);
	job_save(j, job);
	STEP("delivered");
	jobs_tell(j);
}

/* Puts the failure into the state, or its absence. The same failure of one report after another is no news: it would be written into the
 * session's status at each try of each session while a store is away. */
static void say_failure(struct delivery *d, const struct link_report *r, const char *message)
{
	char what[ERR_MESSAGE_SIZE];
	const char *name = strstr(message, r->name);
	snprintf(what, sizeof what, "%.*s%s", (int)(name ? name - message : (ptrdiff_t)strlen(message)), message, name ? name + strlen(r->name) : "");
	if (strcmp(what, d->said) == 0)
		return;
	memcpy(d->said, what, sizeof what);
	AUTO_FREE char *text = d->ended_as && what[0] ? mem_printf("%s" NOT_YET "%s", d->ended_as, message) : NULL;
	pthread_mutex_lock(&d->jobs->lock);
	jobs_say(d->job, d->job->state.reason, text ? text : what[0] ? message : d->ended_as);
	jobs_touch(d->jobs, d->job);
	pthread_mutex_unlock(&d->jobs->lock);
	jobs_tell(d->jobs);
}

/* Waits after a failure that another try may mend; a leader that links anew ends the wait, unless the store has asked for it. */
static void back_off_delivery(struct delivery *d, int64_t retry_after_ms)
{
	struct jobs *j = d->jobs;
	struct job *job = d->job;
	int64_t wait = link_backoff_ms(++d->failures, (uint32_t)clock_mono_ns());
	if (retry_after_ms > RETRY_AFTER_MOST_MS)
		retry_after_ms = RETRY_AFTER_MOST_MS;
	bool asked = retry_after_ms > wait;
	int64_t until = clock_mono_ms() + (asked ? retry_after_ms : wait);
	pthread_mutex_lock(&j->lock);
	uint64_t seen = j->leader_changes;
	while ((asked || j->leader_changes == seen) && !must_end(j, job) && clock_mono_ms() < until)
		jobs_wait(j, until);
	pthread_mutex_unlock(&j->lock);
}

/* The report to send, or -1: none is left, or the job's thread must end. */
static ssize_t take_next(struct delivery *d, struct link_report *out, bool *ended)
{
	pthread_mutex_lock(&d->jobs->lock);
	*ended = must_end(d->jobs, d->job);
	ssize_t i = *ended ? -1 : next_report(d);
	if (i >= 0)
		*out = d->job->state.reports[i];
	pthread_mutex_unlock(&d->jobs->lock);
	return i;
}

/* Kept before the next one is sent: an agent that dies then does not send this one again. */
static void mark_delivered(struct delivery *d, size_t i)
{
	struct jobs *j = d->jobs;
	d->failures = 0;
	say_failure(d, &d->job->state.reports[i], "");
	pthread_mutex_lock(&j->lock);
	d->job->state.reports[i].delivered = true;
	bool more = next_report(d) >= 0;
	if (more)
		jobs_touch(j, d->job); /* the last one is kept and told with the end */
	pthread_mutex_unlock(&j->lock);
	if (more) {
		job_save(j, d->job);
		jobs_tell(j);
	}
}

static void give_up_on(struct delivery *d, size_t i, const struct err *e)
{
	d->lost[i] = true;
	if (d->why_lost.kind == ERR_NONE)
		d->why_lost = *e;
}

/* The bound counts from the session, not from this agent's start; but a clock that was set in between must not eat it up. */
static int64_t give_up_at(const struct jobs *j, int64_t began_wall_ms)
{
	int64_t bound = j->config.delivery_bound_ms, age = began_wall_ms ? clock_wall_ms() - began_wall_ms : 0;
	int64_t left = bound - (age > 0 ? age : 0), least = bound < LEAST_TRYING_MS ? bound : LEAST_TRYING_MS;
	return clock_mono_ms() + (left > least ? left : least);
}

/* Sends what is left. false: it was too late, or the job's thread must end; nothing more is to be said. */
static bool deliver_all(struct delivery *d)
{
	struct link_report r;
	bool ended = false;
	ssize_t i;
	while ((i = take_next(d, &r, &ended)) >= 0) {
		struct err e = ERR_INIT;
		int64_t retry_after_ms = -1;
		if (deliver_one(d->jobs, d->job, &r, &retry_after_ms, &e) == 0) {
			STEP("uploaded");
			mark_delivered(d, (size_t)i);
			continue;
		}
		LOG_WARN("jobs", "a report is not delivered yet", LOG_S("job", d->job->order.job_id[0] ? d->job->order.job_id : ""),
			 LOG_S("report", r.name[0] ? r.name : ""), LOG_S("error", e.kind ? e.message : ""));
		d->first = (size_t)i + 1;
		if (e.kind == ERR_INVALID) {
			give_up_on(d, (size_t)i, &e);
		} else if (clock_mono_ms() >= d->give_up_ms) {
			end_delivery(d, REASON_DeliveryExpired, e.message);
			return false;
		} else if (e.kind != ERR_CANCELED) {
			say_failure(d, &r, e.message);
			back_off_delivery(d, retry_after_ms);
		}
	}
	return !ended;
}

/* The message of a session that did not end well, without what an earlier agent has added to it. With the lock held. */
static char *ending_of(const struct link_job *s)
{
	if (end_after(s->reason) == JOB_SUCCEEDED || !s->message)
		return NULL;
	const char *added = strstr(s->message, NOT_YET);
	return mem_strndup(s->message, added ? (size_t)(added - s->message) : strlen(s->message));
}

void job_delivery_run(struct jobs *j, struct job *job)
{
	struct delivery d = {.jobs = j, .job = job};
	pthread_mutex_lock(&j->lock);
	bool delivers = job->state.phase == JOB_DELIVERING;
	d.ended_as = ending_of(&job->state);
	d.give_up_ms = give_up_at(j, job->state.started_wall_ms);
	pthread_mutex_unlock(&j->lock);
	if (delivers && deliver_all(&d)) {
		bool lost = d.why_lost.kind != ERR_NONE;
		end_delivery(&d, !lost ? NULL : d.why_lost.reason ? d.why_lost.reason : REASON_UploadFailed, d.why_lost.message);
	}
	free(d.ended_as);
}
