/* Jobs with made-up processes, sessions and stores; the threads, the spool and the rules are real. */
#include "agent/jobs/jobs.h"

#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEEN "120 requests/s" /* while it runs */
#define WAIT_MS 20000
#define SHA "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" /* "hello" */

/* What the world does; set by each test before jobs_new. */
static struct {
	bool same_process;            /* all orders find one process; else one each */
	int64_t session_ms;           /* a session lasts so long, or until it is cancelled */
	atomic_int sessions, most_sessions, uploads, discoveries;
	_Atomic(enum err_kind) upload_fails; /* ERR_NONE: works */
	atomic_llong retry_after_ms;
	atomic_bool linked, denies, denies_for_ever, no_report;
	struct jobs *jobs;            /* guarded by answering; NULL: nobody is there to answer to */
} world;

static pthread_mutex_t answering = PTHREAD_MUTEX_INITIALIZER;

static char folder[] = "/tmp/jobs-XXXXXX";

static int discover(const struct discover_options *o, struct target_list *out, struct err *e)
{
	int number = atomic_fetch_add(&world.discoveries, 1) + 1;
	if (strcmp(o->pod_name, "without") == 0)
		return err_set_reason(e, ERR_NOT_FOUND, REASON_NoDotnetProcess, "no .NET process in the pod");
	*out = (struct target_list){.items = mem_calloc(1, sizeof(struct target)), .count = 1};
	struct target *t = &out->items[0];
	t->pid = world.same_process ? 7 : 100 + number;
	t->inner_pid = 1;
	t->profilable = true;
	t->runtime_version = mem_strdup("10.0.1");
	return 0;
}

static void run(const struct session_request *q, struct session_outcome *out)
{
	int now = atomic_fetch_add(&world.sessions, 1) + 1;
	if (now > atomic_load(&world.most_sessions))
		atomic_store(&world.most_sessions, now);
	struct session_progress p = {.phase = JOB_PROFILING, .first_sample_wall_ms = clock_wall_ms(), .live = SEEN};
	q->on_progress(q->progress_ctx, &p);
	struct pollfd fd = {.fd = q->cancel_fd, .events = POLLIN};
	bool canceled = poll(&fd, 1, (int)world.session_ms) > 0;
	out->phase = canceled ? JOB_CANCELED : JOB_SUCCEEDED;
	out->reason = canceled ? REASON_Canceled : REASON_Completed;
	if (atomic_load(&world.no_report)) {
		atomic_fetch_sub(&world.sessions, 1);
		return;
	}
	int file = openat(q->out_dirfd, "summary.md", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	cr_assert_eq(write(file, "hello", 5), 5);
	close(file);
	out->report.report_count = 1;
	out->report.reports[0] = (struct link_report){.name = "summary.md", .media_type = "text/markdown", .size_bytes = 5, .sha256 = SHA};
	atomic_fetch_sub(&world.sessions, 1);
}

static int upload(const char *url, int fd, const struct link_report *r, const struct upload_options *o, struct err *e)
{
	(void)r;
	char content[8];
	cr_assert_str_eq(url, "https://store/x");
	cr_assert_eq(pread(fd, content, sizeof content, 0), 5);
	atomic_fetch_add(&world.uploads, 1);
	enum err_kind kind = atomic_load(&world.upload_fails);
	if (kind == ERR_CANCELED) { /* a store that takes its time */
		struct pollfd end = {.fd = o->cancel_fd, .events = POLLIN};
		cr_expect_eq(poll(&end, 1, WAIT_MS), 1);
	}
	if (kind == ERR_RETRY && atomic_load(&world.retry_after_ms))
		*o->retry_after_ms = atomic_load(&world.retry_after_ms);
	return kind == ERR_NONE ? 0 : err_set(e, kind, 0, "told to fail");
}

static void *grant(void *arg)
{
	struct link_msg *m = arg;
	pthread_mutex_lock(&answering);
	if (world.jobs)
		jobs_upload_answer(world.jobs, m);
	pthread_mutex_unlock(&answering);
	link_msg_fini(m);
	free(m);
	return NULL;
}

/* The leader: answers an upload request, from another thread as the link would. */
static int send_message(void *ctx, const struct link_msg *m, struct err *e)
{
	(void)ctx;
	if (!atomic_load(&world.linked))
		return err_set(e, ERR_RETRY, 0, "no link");
	if (m->type != LINK_MSG_UPLOAD_REQUEST)
		return 0;
	struct link_msg *a = mem_alloc(sizeof *a);
	memcpy(a->job_id, m->job_id, sizeof a->job_id);
	bool denied = atomic_load(&world.denies) || atomic_load(&world.denies_for_ever);
	a->type = denied ? LINK_MSG_UPLOAD_DENIED : LINK_MSG_UPLOAD_GRANT;
	if (denied) {
		strcpy(a->u.upload_denied.report_name, m->u.upload_request.report.name);
		a->u.upload_denied.retry = !atomic_load(&world.denies_for_ever);
		a->u.upload_denied.reason = mem_strdup(REASON_StoreNotFound);
	} else {
		strcpy(a->u.upload_grant.report_name, m->u.upload_request.report.name);
		a->u.upload_grant.url = mem_strdup("https://store/x");
	}
	pthread_t thread;
	cr_assert_eq(pthread_create(&thread, NULL, grant, a), 0);
	pthread_detach(thread);
	return 0;
}

static const struct jobs_operations operations = {discover, run, upload};

static struct jobs *open_jobs(struct spool *spool, size_t max_running, int64_t delivery_bound_ms)
{
	struct jobs_config c = {
		.spool = spool,
		.max_running = max_running,
		.delivery_bound_ms = delivery_bound_ms,
		.operations = &operations,
		.node_name = "node",
		.send = send_message,
	};
	pthread_mutex_lock(&answering); /* resumed jobs may ask before this returns */
	struct jobs *j = world.jobs = jobs_new(&c);
	pthread_mutex_unlock(&answering);
	return j;
}

/* As an agent ends: no more answers first. */
static void close_jobs(struct jobs *j)
{
	pthread_mutex_lock(&answering);
	world.jobs = NULL;
	pthread_mutex_unlock(&answering);
	jobs_free(j);
}

static struct spool *open_spool(void)
{
	struct err e = ERR_INIT;
	if (strstr(folder, "XXXXXX"))
		cr_assert_not_null(mkdtemp(folder));
	struct spool *s = spool_new(folder, 1024 * 1024, &e);
	cr_assert_not_null(s, "%s", e.message);
	world.linked = true;
	return s;
}

static void order(struct jobs *j, const char *id, const char *pod, int64_t deadline_in_ms)
{
	struct link_order o = {.deadline_wall_ms = deadline_in_ms ? clock_wall_ms() + deadline_in_ms : 0};
	snprintf(o.job_id, sizeof o.job_id, "%s", id);
	strcpy(o.session_namespace, "shop");
	strcpy(o.session_name, "s");
	strcpy(o.session_uid, "u");
	strcpy(o.pod_namespace, "shop");
	snprintf(o.pod_name, sizeof o.pod_name, "%s", pod);
	strcpy(o.pod_uid, "p");
	session_spec_init(&o.spec, PROFILER_CPU_HOTPATHS);
	o.spec.target.pod_name = mem_strdup(pod);
	o.spec.duration_seconds = 1;
	jobs_order(j, &o);
	session_spec_fini(&o.spec);
}

/* The state of a job; false: there is no such job. */
static bool state_of(struct jobs *j, const char *id, struct link_job *out)
{
	uint64_t version = 0;
	while (jobs_next(j, &version, out)) {
		if (strcmp(out->job_id, id) == 0)
			return true;
		link_job_fini(out);
	}
	return false;
}

static bool is_in(struct jobs *j, const char *id, enum job_phase phase, const char *reason)
{
	struct link_job s;
	if (!state_of(j, id, &s))
		return false;
	bool found = s.phase == phase && (!reason || (s.reason && strcmp(s.reason, reason) == 0));
	found &= phase != JOB_PROFILING || (s.message && strcmp(s.message, SEEN) == 0);
	link_job_fini(&s);
	return found;
}

static void expect(struct jobs *j, const char *id, enum job_phase phase, const char *reason)
{
	int64_t until = clock_mono_ms() + WAIT_MS;
	while (!is_in(j, id, phase, reason) && clock_mono_ms() < until)
		usleep(2000);
	struct link_job s;
	cr_assert(state_of(j, id, &s), "%s is gone", id);
	cr_assert_eq(s.phase, phase, "%s is %s (%s), not %s", id, job_phase_name(s.phase), s.reason ? s.reason : "", job_phase_name(phase));
	link_job_fini(&s);
}

static void expect_count(struct jobs *j, size_t count)
{
	int64_t until = clock_mono_ms() + WAIT_MS;
	while (jobs_count(j) != count && clock_mono_ms() < until)
		usleep(2000);
	cr_assert_eq(jobs_count(j), count);
}

static void close_all(struct jobs *j, struct spool *s)
{
	char command[64];
	close_jobs(j);
	spool_free(s);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	cr_expect_eq(system(command), 0);
}

Test(jobs, from_order_to_delivered)
{
	struct spool *s = open_spool();
	struct jobs *j = open_jobs(s, 2, 0);
	order(j, "a", "pod", 0);
	order(j, "a", "pod", 0);
	expect(j, "a", JOB_SUCCEEDED, REASON_Completed);
	cr_expect_eq(jobs_count(j), 1);
	cr_expect_eq(world.uploads, 1);
	order(j, "b", "without", 0);
	expect(j, "b", JOB_FAILED, REASON_NoDotnetProcess);
	jobs_forget(j, "a");
	expect_count(j, 1);
	order(j, "a", "pod", 0);
	cr_expect_eq(jobs_count(j), 1, "a late copy of the order");
	jobs_forget(j, "nobody");
	jobs_cancel(j, "nobody");
	close_all(j, s);
}

Test(jobs, so_many_at_once_and_one_a_process)
{
	for (int same = 0; same < 2; same++) {
		struct spool *s = open_spool();
		world.same_process = same;
		world.session_ms = 20;
		atomic_store(&world.most_sessions, 0);
		struct jobs *j = open_jobs(s, 3, 0);
		char id[16];
		for (int i = 0; i < 12; i++) {
			snprintf(id, sizeof id, "j%d", i);
			order(j, id, "pod", 0);
		}
		for (int i = 0; i < 12; i++) {
			snprintf(id, sizeof id, "j%d", i);
			expect(j, id, JOB_SUCCEEDED, NULL);
		}
		int most = atomic_load(&world.most_sessions);
		cr_expect(same ? most == 1 : most >= 1 && most <= 3, "%d at once", most);
		close_all(j, s);
		strcpy(folder, "/tmp/jobs-XXXXXX");
	}
}

Test(jobs, cancel_forget_and_the_deadline)
{
	struct spool *s = open_spool();
	world.session_ms = WAIT_MS;
	struct jobs *j = open_jobs(s, 1, 0);
	order(j, "runs", "pod", 0);
	expect(j, "runs", JOB_PROFILING, NULL);
	order(j, "waits", "pod", 0);
	order(j, "late", "pod", 50);
	expect(j, "late", JOB_FAILED, REASON_DeadlineExceeded);
	jobs_cancel(j, "waits");
	expect(j, "waits", JOB_CANCELED, NULL);
	jobs_cancel(j, "runs");
	expect(j, "runs", JOB_CANCELED, NULL);
	cr_expect_eq(world.uploads, 1, "what was collected is delivered");
	order(j, "unwanted", "pod", 0);
	expect(j, "unwanted", JOB_PROFILING, NULL);
	jobs_forget(j, "unwanted");
	expect_count(j, 3);
	close_all(j, s);
}

Test(jobs, delivery_goes_on_until_it_works)
{
	struct spool *s = open_spool();
	atomic_store(&world.linked, false);
	struct jobs *j = open_jobs(s, 2, 0);
	order(j, "a", "pod", 0);
	expect(j, "a", JOB_DELIVERING, NULL);
	atomic_store(&world.denies, true);
	atomic_store(&world.linked, true);
	jobs_leader_linked(j);
	usleep(20000);
	atomic_store(&world.upload_fails, ERR_DENIED);
	atomic_store(&world.denies, false);
	jobs_leader_linked(j);
	int64_t until = clock_mono_ms() + WAIT_MS;
	while (atomic_load(&world.uploads) == 0 && clock_mono_ms() < until)
		usleep(2000);
	cr_expect(is_in(j, "a", JOB_DELIVERING, NULL));
	atomic_store(&world.upload_fails, ERR_NONE);
	expect(j, "a", JOB_SUCCEEDED, NULL);
	close_all(j, s);
}

Test(jobs, delivery_that_can_not_work_ends)
{
	struct spool *s = open_spool();
	struct jobs *j = open_jobs(s, 2, 0);
	atomic_store(&world.denies_for_ever, true);
	order(j, "denied", "pod", 0);
	expect(j, "denied", JOB_FAILED, REASON_StoreNotFound);
	atomic_store(&world.denies_for_ever, false);
	atomic_store(&world.upload_fails, ERR_INVALID);
	order(j, "changed", "pod", 0);
	expect(j, "changed", JOB_FAILED, REASON_UploadFailed);
	close_all(j, s);
	strcpy(folder, "/tmp/jobs-XXXXXX");
	s = open_spool();
	atomic_store(&world.upload_fails, ERR_RETRY);
	j = open_jobs(s, 2, 1);
	order(j, "expired", "pod", 0);
	expect(j, "expired", JOB_FAILED, REASON_DeliveryExpired);
	close_all(j, s);
}

static void wait_uploads(int count)
{
	int64_t until = clock_mono_ms() + WAIT_MS;
	while (atomic_load(&world.uploads) < count && clock_mono_ms() < until)
		usleep(2000);
	cr_assert_geq(atomic_load(&world.uploads), count);
}

/* A stalled upload holds up neither the agent's end nor the user who deletes the session. */
Test(jobs, an_upload_under_way_ends_with_the_agent_or_the_session)
{
	struct spool *s = open_spool();
	struct jobs *j = open_jobs(s, 2, 0);
	atomic_store(&world.upload_fails, ERR_CANCELED);
	order(j, "deleted", "pod", 0);
	order(j, "kept", "pod", 0);
	wait_uploads(2);
	jobs_forget(j, "deleted");
	expect_count(j, 1);
	close_jobs(j);
	atomic_store(&world.upload_fails, ERR_NONE);
	j = open_jobs(s, 2, 0);
	expect(j, "kept", JOB_SUCCEEDED, REASON_Completed);
	close_all(j, s);
}

Test(jobs, a_store_that_asks_for_time_gets_it)
{
	struct spool *s = open_spool();
	struct jobs *j = open_jobs(s, 2, 0);
	atomic_store(&world.retry_after_ms, 2500);
	atomic_store(&world.upload_fails, ERR_RETRY);
	int64_t began = clock_mono_ms();
	order(j, "a", "pod", 0);
	wait_uploads(1);
	atomic_store(&world.upload_fails, ERR_NONE);
	jobs_leader_linked(j);
	expect(j, "a", JOB_SUCCEEDED, REASON_Completed);
	cr_expect_geq(clock_mono_ms() - began, 2500);
	close_all(j, s);
}

Test(jobs, the_deadline_goes_by_the_time_that_is_left)
{
	struct spool *s = open_spool();
	struct jobs *j = open_jobs(s, 2, 0);
	struct link_order o = {.job_id = "skewed", .session_namespace = "shop", .session_name = "s", .session_uid = "u", .pod_namespace = "shop",
			       .pod_name = "pod", .pod_uid = "p", .deadline_wall_ms = 1, .left_ms = 60000}; /* the controller lives in 1970 */
	session_spec_init(&o.spec, PROFILER_CPU_HOTPATHS);
	o.spec.target.pod_name = mem_strdup("pod");
	jobs_order(j, &o);
	session_spec_fini(&o.spec);
	expect(j, "skewed", JOB_SUCCEEDED, REASON_Completed);
	close_all(j, s);
}

Test(jobs, a_new_agent_takes_up_what_the_old_one_left)
{
	struct spool *s = open_spool();
	world.session_ms = WAIT_MS;
	struct jobs *j = open_jobs(s, 1, 0);
	atomic_store(&world.linked, false);
	order(j, "runs", "pod", 0);
	expect(j, "runs", JOB_PROFILING, NULL);
	order(j, "waits", "pod", 0);
	order(j, "fails", "without", 0);
	jobs_stop(j);
	order(j, "too late", "pod", 0);
	cr_expect_eq(jobs_count(j), 3);
	close_jobs(j);
	atomic_store(&world.linked, true);
	world.session_ms = 1;
	j = open_jobs(s, 1, 0);
	cr_expect_eq(jobs_count(j), 3);
	expect(j, "runs", JOB_CANCELED, REASON_Canceled);
	expect(j, "waits", JOB_SUCCEEDED, NULL);
	expect(j, "fails", JOB_FAILED, REASON_NoDotnetProcess);
	close_jobs(j);
	j = open_jobs(s, 1, 0);
	expect(j, "waits", JOB_SUCCEEDED, NULL);
	cr_expect_eq(jobs_count(j), 3, "ends are kept until they are forgotten");
	for (int i = 0; i < 3; i++)
		jobs_forget(j, ((const char *[]){"runs", "waits", "fails"})[i]);
	expect_count(j, 0);
	close_jobs(j);
	j = open_jobs(s, 1, 0);
	cr_expect_eq(jobs_count(j), 0);
	close_all(j, s);
}

Test(jobs, a_session_that_the_agents_end_cut_off_without_a_report_starts_again)
{
	struct spool *s = open_spool();
	world.session_ms = WAIT_MS;
	atomic_store(&world.no_report, true);
	struct jobs *j = open_jobs(s, 2, 0);
	order(j, "stopped", "pod", 0);
	order(j, "canceled", "pod", 0);
	expect(j, "stopped", JOB_PROFILING, NULL);
	expect(j, "canceled", JOB_PROFILING, NULL);
	jobs_cancel(j, "canceled");
	expect(j, "canceled", JOB_CANCELED, REASON_Canceled);
	jobs_stop(j);
	expect(j, "stopped", JOB_QUEUED, REASON_Queued);
	close_jobs(j);
	world.session_ms = 1;
	atomic_store(&world.no_report, false);
	j = open_jobs(s, 2, 0);
	expect(j, "stopped", JOB_SUCCEEDED, REASON_Completed);
	expect(j, "canceled", JOB_CANCELED, REASON_Canceled);
	close_all(j, s);
}

Test(jobs, an_order_that_is_not_understood_is_refused)
{
	struct spool *s = open_spool();
	struct jobs *j = open_jobs(s, 1, 0);
	struct link_order o = {.job_id = "new", .spec_error = "spec.ofTheFuture: unknown field"};
	jobs_order(j, &o);
	cr_expect_eq(jobs_count(j), 0);
	close_all(j, s);
}

static void *disturb(void *arg)
{
	struct jobs *j = arg;
	char id[16];
	for (int i = 0; i < 300; i++) {
		snprintf(id, sizeof id, "j%d", i % 40);
		if (i % 7 == 3)
			jobs_cancel(j, id);
		else if (i % 7 == 5)
			jobs_forget(j, id);
		else
			order(j, id, "pod", 0);
		struct link_job state;
		uint64_t version = 0;
		while (jobs_next(j, &version, &state))
			link_job_fini(&state);
	}
	return NULL;
}

Test(jobs, many_threads)
{
	struct spool *s = open_spool();
	struct jobs *j = open_jobs(s, 4, 0);
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, disturb, j), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	cr_expect_leq(jobs_count(j), 40);
	close_all(j, s);
}
