/* One local session's thread: waits for its turn, chooses the process, profiles it. */
#include "agent/cli/cli_target.h"
#include "agent/profilers/profilers.h"
#include "agent/serve/serve_private.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/thread.h"
#include "common/report/report_diff_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define DISCOVER_MS 20000
#define ANSWER_MS 15000

/* What has changed, to those who follow. Without the lock. */
static void notify_changed(struct serve_session *x)
{
	if (x->all->config.changed)
		x->all->config.changed(x->all->config.changed_ctx, x->name);
}

/* With the lock. */
static void draw(struct serve_session *x, const char *message)
{
	struct serve_run *r = x->run;
	char *text = mem_strdup(message);
	free(r->message);
	r->message = text;
	r->facts.message = text;
	json_decref(x->document);
	x->document = serve_document_make(&r->facts);
}

static void enter_phase(struct serve_session *x, enum job_phase phase, const char *message)
{
	pthread_mutex_lock(&x->all->lock);
	x->run->facts.phase = phase;
	draw(x, message);
	pthread_mutex_unlock(&x->all->lock);
	notify_changed(x);
}

/* With the lock: does another session work on this process? */
static bool is_taken(const struct serve_session *x, pid_t pid)
{
	for (struct serve_session *other = x->all->table; other; other = other->hh.next)
		if (other != x && other->run && other->run->pid == pid)
			return true;
	return false;
}

/* -1: canceled while it waited. */
static int wait_for_turn(struct serve_session *x)
{
	struct serve_sessions *s = x->all;
	pthread_mutex_lock(&s->lock);
	while (!x->run->cancelled && s->running >= s->config.at_once)
		pthread_cond_wait(&s->moved, &s->lock);
	bool go = !x->run->cancelled;
	s->running += go;
	pthread_mutex_unlock(&s->lock);
	return go ? 0 : -1;
}

static int take_process(struct serve_session *x, const struct target *t)
{
	struct serve_sessions *s = x->all;
	struct serve_run *r = x->run;
	pthread_mutex_lock(&s->lock);
	serve_document_pod_name(t->entrypoint, t->pid, r->pod_name);
	r->entrypoint = mem_strdup(t->entrypoint);
	r->runtime_version = mem_strdup(t->runtime_version);
	r->facts.pod_name = r->pod_name;
	r->facts.entrypoint = r->entrypoint;
	r->facts.runtime_version = r->runtime_version;
	r->facts.pid = t->pid;
	if (is_taken(x, t->pid)) {
		r->facts.phase = JOB_QUEUED;
		draw(x, "another session profiles this process; waiting for its end");
	}
	while (!r->cancelled && is_taken(x, t->pid))
		pthread_cond_wait(&s->moved, &s->lock);
	bool go = !r->cancelled;
	r->pid = go ? t->pid : 0;
	r->facts.phase = JOB_PREPARING;
	r->facts.started_wall_ms = clock_wall_ms();
	draw(x, "attaching");
	serve_folder_save(s, x);
	pthread_mutex_unlock(&s->lock);
	notify_changed(x);
	return go ? 0 : -1;
}

static ssize_t choose_session_target(struct serve_session *x, struct target_list *targets, struct err *e)
{
	const struct session_target *wanted = &x->run->spec.target;
	struct discover_options o = {
		.mode = AGENT_MODE_HOST_PID,
		.proc_root = "/proc",
		.pid = (pid_t)wanted->pid,
		.query_runtime = true,
		.answer_ms = wanted->pid ? ANSWER_MS : 0,
		.deadline_ms = clock_mono_ms() + DISCOVER_MS,
	};
	if (discover_targets(&o, targets, e) < 0)
		return -1;
	if (wanted->pid && targets->count == 0)
		return err_set_reason(e, ERR_NOT_FOUND, REASON_ProcessNotFound, "process %lld is not a .NET process visible to this user",
				      (long long)wanted->pid);
	return cli_target_choose_for(profilers_work_without(x->run->spec.profiler), targets, wanted->entrypoint, e);
}

static void update_run_progress(void *ctx, const struct session_progress *p)
{
	struct serve_session *x = ctx;
	char text[512];
	if (p->duration_ms && p->live && p->live[0])
		snprintf(text, sizeof text, "%lld of %lld s: %s", (long long)(p->elapsed_ms / 1000), (long long)(p->duration_ms / 1000), p->live);
	else if (p->duration_ms)
		snprintf(text, sizeof text, "%lld of %lld s, %lld samples", (long long)(p->elapsed_ms / 1000), (long long)(p->duration_ms / 1000),
			 (long long)p->samples);
	else /* it looks once */
		snprintf(text, sizeof text, "%lld s", (long long)(p->elapsed_ms / 1000));
	pthread_mutex_lock(&x->all->lock);
	x->run->facts.phase = p->phase;
	if (p->first_sample_wall_ms)
		x->run->facts.first_sample_wall_ms = p->first_sample_wall_ms;
	draw(x, p->phase == JOB_PROFILING ? text : p->phase == JOB_ANALYZING ? "writing the report" : "attaching");
	pthread_mutex_unlock(&x->all->lock);
	notify_changed(x);
}

/* With spec.baselineSession; NULL: nothing was asked, or there is no report. */
static char *compare_sessions(const struct serve_session *x, const struct session_outcome *out)
{
	const char *dir = x->all->config.dir, *baseline = x->run->spec.baseline_session;
	struct err e = ERR_INIT;
	if (!baseline || out->report.report_count == 0)
		return NULL;
	AUTO_FREE char *before = mem_printf("%s/%s", dir, baseline);
	AUTO_FREE char *after = mem_printf("%s/%s", dir, x->name);
	AUTO_JSON json_t *diff = report_diff_file_make(before, after, &e);
	return diff ? mem_strdup(jsonx_str_at(diff, "diagnosis", "")) : mem_printf("Not compared with %s: %s.", baseline, e.message);
}

/* The end as the outcome has it; with the lock until the document is drawn and kept. */
static void finish_run(struct serve_session *x, struct session_outcome *out)
{
	struct serve_sessions *s = x->all;
	struct serve_facts *f = &x->run->facts;
	f->comparison = x->run->comparison = compare_sessions(x, out);
	pthread_mutex_lock(&s->lock);
	f->phase = out->phase;
	f->reason = out->reason;
	f->completed_wall_ms = clock_wall_ms();
	f->headline = out->report.headline;
	f->diagnosis = out->report.diagnosis;
	f->findings = out->report.findings;
	f->finding_count = out->report.finding_count;
	f->reports = out->report.reports;
	f->report_count = out->report.report_count;
	f->cost = &out->cost;
	if (out->first_sample_wall_ms)
		f->first_sample_wall_ms = out->first_sample_wall_ms;
	draw(x, out->message ? out->message : "");
	if (!x->deleted)
		serve_folder_save(s, x);
	pthread_mutex_unlock(&s->lock);
}

static void profile_target(struct serve_session *x, const struct target *t, struct session_outcome *out)
{
	struct serve_run *r = x->run;
	AUTO_FD int dir_fd = serve_folder_open(x->all, x->name);
	struct report_context context = {
		.session_name = x->name,
		.session_namespace = "",
		.session_uid = x->uid,
		.pod_name = "",
		.container = "",
		.node_name = "",
	};
	struct session_request q = {
		.spec = &r->spec,
		.target = t,
		.context = &context,
		.library_path = x->all->config.library_path,
		.out_dirfd = dir_fd,
		.cancel_fd = r->cancel_fd,
		.on_progress = update_run_progress,
		.progress_ctx = x,
	};
	if (dir_fd >= 0) {
		profilers_run(&q, out);
		return;
	}
	*out = (struct session_outcome){.phase = JOB_FAILED, .reason = REASON_InternalError};
	out->message = mem_printf("the session's folder cannot be opened: %s", strerror(errno));
}

static void fail_run(struct session_outcome *out, const struct err *e)
{
	*out = (struct session_outcome){.phase = JOB_FAILED, .reason = reason_of_err(e), .message = mem_strdup(e->message)};
}

static void be_canceled(struct session_outcome *out)
{
	*out = (struct session_outcome){.phase = JOB_CANCELED, .reason = REASON_Canceled, .message = mem_strdup("canceled before it began")};
}

static void run_serve_session(struct serve_session *x, struct session_outcome *out)
{
	struct target_list targets = {0};
	struct err e = ERR_INIT;
	enter_phase(x, JOB_PREPARING, "looking for the process");
	ssize_t at = choose_session_target(x, &targets, &e);
	if (at < 0)
		fail_run(out, &e);
	else if (take_process(x, &targets.items[at]) < 0)
		be_canceled(out);
	else
		profile_target(x, &targets.items[at], out);
	target_list_fini(&targets);
}

static void run_fini(struct serve_run *r)
{
	session_spec_fini(&r->spec);
	json_decref(r->asked);
	if (r->cancel_fd >= 0)
		close(r->cancel_fd);
	free(r->message);
	free(r->comparison);
	free(r->entrypoint);
	free(r->runtime_version);
	free(r);
}

/* The last that is done with the session: it may be gone afterwards. */
static void leave_run(struct serve_session *x, bool had_turn)
{
	struct serve_sessions *s = x->all;
	char name[sizeof x->name];
	memcpy(name, x->name, sizeof name);
	pthread_mutex_lock(&s->lock);
	GROW(s->ended, s->ended_count, s->ended_cap);
	s->ended[s->ended_count++] = x->run->thread;
	run_fini(steal_ptr(&x->run));
	s->running -= had_turn;
	s->unfinished--;
	if (x->deleted) {
		serve_folder_remove(s, x->name);
		HASH_DEL(s->table, x);
		json_decref(x->document);
		free(x);
	}
	pthread_cond_broadcast(&s->moved);
	void (*changed)(void *ctx, const char *name) = s->config.changed;
	void *ctx = s->config.changed_ctx;
	pthread_mutex_unlock(&s->lock);
	if (changed)
		changed(ctx, name);
}

static void *serve_run_thread(void *arg)
{
	struct serve_session *x = arg;
	struct session_outcome out = {0};
	bool had_turn = wait_for_turn(x) == 0;
	if (had_turn)
		run_serve_session(x, &out);
	else
		be_canceled(&out);
	finish_run(x, &out);
	leave_run(x, had_turn);
	session_outcome_fini(&out);
	return NULL;
}

int serve_run_start(struct serve_session *x, struct err *e)
{
	struct serve_run *r = x->run;
	r->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = r->cancel_fd < 0 ? err_set_errno(e, errno, "starting the session") : 0;
	if (rc == 0) {
		draw(x, "waiting for its turn");
		rc = thread_start(&r->thread, "session", THREAD_STACK_USUAL, serve_run_thread, x, e);
	}
	if (rc < 0)
		run_fini(steal_ptr(&x->run));
	return rc;
}
