#include "agent/session/attached_session_private.h"

#include "agent/discover/preflight.h"
#include "agent/host/cgroup.h"
#include "agent/host/proc.h"
#include "agent/host/process_exit.h"
#include "agent/host/work_budget.h"
#include "agent/starts/start_capture.h"
#include "agent/target/target_fs.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/step.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#define ATTACH_DEADLINE_MS 10000
#define LIVE_NS 2000000000
#define LIVE_BYTES 240

static int64_t own_cpu_ns(void)
{
	struct timespec t = {0};
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t own_ms(const struct attached_session *s)
{
	return (own_cpu_ns() - s->own_begin_ns + s->helper_cpu_ns) / 1000000;
}

static int64_t counts_from_ns(const struct attached_session *s)
{
	return s->counts_from_ns ? s->counts_from_ns : s->started_ns;
}

int64_t attached_session_end_ns(const struct attached_session *s)
{
	return counts_from_ns(s) + s->q->spec->duration_seconds * 1000000000;
}

/* What a profiler has to say while it runs. */
static void say_live(struct attached_session *s, enum job_phase phase, int64_t now_ns)
{
	if (!s->profiler->live || phase != JOB_PROFILING || !s->samples || now_ns - s->live_ns < LIVE_NS)
		return;
	s->live_ns = now_ns;
	buf_reset(&s->live);
	s->profiler->live(s, &s->live);
}

void attached_session_progress(struct attached_session *s, enum job_phase phase)
{
	struct session_progress *p = &s->progress;
	int64_t now_ns = clock_mono_ns();
	p->phase = phase;
	p->duration_ms = s->q->spec->duration_seconds * 1000;
	p->elapsed_ms = s->started_ns ? ((s->ended_ns ? s->ended_ns : now_ns) - counts_from_ns(s)) / 1000000 : 0;
	p->samples = s->samples;
	say_live(s, phase, now_ns);
	p->live = phase == JOB_PROFILING && s->live.len ? buf_str(&s->live) : "";
	if (s->first_sample_ns && !p->first_sample_wall_ms)
		p->first_sample_wall_ms = clock_wall_ms() - (now_ns - s->first_sample_ns) / 1000000;
	s->out->first_sample_wall_ms = p->first_sample_wall_ms;
	if (s->q->on_progress)
		s->q->on_progress(s->q->progress_ctx, p);
}

void attached_session_wait(const struct attached_session *s, int64_t most_ms)
{
	if (s->q->on_wait)
		s->q->on_wait(s->q->progress_ctx, most_ms);
}

int64_t attached_session_over_ns(const struct attached_session *s)
{
	const struct start_capture *c = s->q->start;
	int64_t now_ns = clock_mono_ns();
	return c && c->ended && c->ended_ns > s->started_ns && c->ended_ns < now_ns ? c->ended_ns : now_ns;
}

bool attached_session_process_exited(const struct attached_session *s, int64_t grace_ms)
{
	struct pollfd p = {.fd = s->pid_fd, .events = POLLIN};
	return !target_alive(s->q->target) || (s->pid_fd >= 0 && poll(&p, 1, (int)grace_ms) > 0);
}

/* steps --------------------------------------------------------------------------------------------------------- */

static int step_preflight(struct attached_session *s, struct err *e)
{
	struct err why = ERR_INIT;
	attached_session_progress(s, JOB_PREPARING);
	if (s->q->unattached)
		return err_set_reason(&s->unattached, ERR_GONE, REASON_ProcessExited, "the process has ended, or its runtime did not answer"), 0;
	if (preflight_check(s->q->target, &why) == 0)
		return 0;
	bool goes_without = target_only_unattachable(s->q->target, why.reason, s->profiler->without);
	*(goes_without ? &s->unattached : e) = why;
	return goes_without ? 0 : -1;
}

static int64_t memory_limit_bytes(const struct target *t)
{
	struct cgroup_memory memory;
	struct cgroup_owner group = target_cgroup(t);
	cgroup_read_memory(PROC_ROOT, &group, &memory);
	return memory.limit_bytes;
}

/* From here on the process is held by descriptors: a reused pid is not taken for it. */
static int step_open_process(struct attached_session *s, struct err *e)
{
	const struct target *t = s->q->target;
	s->facts.uptime_ms = -1;
	if (s->q->unattached)
		return 0;
	s->facts.memory_limit_bytes = memory_limit_bytes(t); /* now: at the session's end the pod may be gone */
	if (t->mode != AGENT_MODE_HOST_PID)
		return 0;
	s->proc_fd = target_open_proc(t, e);
	if (s->proc_fd < 0)
		return -1;
	s->facts.uptime_ms = proc_uptime_ms(s->proc_fd);
	s->pid_fd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (!target_alive(t))
		return err_set_reason(e, ERR_GONE, REASON_ProcessExited, "the process has ended");
	return 0;
}

static void note_session_start(struct attached_session *s)
{
	int64_t now_ns = clock_mono_ns();
	if (!s->started_ns)
		s->started_ns = now_ns;
	s->out->started_wall_ms = s->facts.started_wall_ms = clock_wall_ms() - (now_ns - s->started_ns) / 1000000;
	session_delay_begin(&s->delay, s->q->target, s->proc_fd);
}

static int step_prepare(struct attached_session *s, struct err *e)
{
	attached_collect_note_engines(s);
	if (s->profiler->prepare && s->profiler->prepare(s, e) < 0)
		return -1;
	if (s->started_ns)
		note_session_start(s);
	if (s->q->on_prepared)
		s->q->on_prepared(s->q->prepared_ctx);
	return 0;
}

static int attach(struct attached_session *s, uint32_t features, struct err *e)
{
	int64_t until_ms = clock_mono_ms() + ATTACH_DEADLINE_MS;
	if (s->q->deadline_ms && s->q->deadline_ms < until_ms)
		until_ms = s->q->deadline_ms;
	struct session_attach_options o = {
		.library_path = s->q->library_path,
		.pause_budget_ms = s->q->spec->pause_budget_ms,
		.features = features,
		.deadline_ms = until_ms,
		.on_channel = s->q->on_channel,
		.ctx = s->q->progress_ctx,
	};
	if (session_attach_begin(&s->attach, s->q->target, &o, e) < 0)
		return -1;
	s->attached = true;
	s->facts.beside_profiler = profiler_channel_notification_only(s->attach.channel);
	profiler_channel_on_wait(s->attach.channel, s->q->on_wait, s->q->progress_ctx);
	if (!s->started_ns)
		note_session_start(s);
	return 0;
}

/* Nothing is wrong but that the library is not let in, or gets no answer. */
static bool goes_on_outside(struct attached_session *s, const struct err *why)
{
	bool unanswered = !why->reason && (why->kind == ERR_TIMEOUT || why->kind == ERR_PROTOCOL || why->kind == ERR_GONE || why->kind == ERR_RETRY);
	return s->profiler->without & TARGET_WITHOUT_LIBRARY && !attached_session_ended(s) && !attached_session_paused(s) && !attached_session_lapsed(s) &&
	       !attached_session_process_exited(s, why->kind == ERR_GONE || why->kind == ERR_PROTOCOL ? EXIT_GRACE_MS : 0) && !target_stopped(s->q->target) &&
	       (unanswered || target_only_unattachable(s->q->target, why->reason, s->profiler->without));
}

static int step_attach(struct attached_session *s, struct err *e)
{
	struct err why = ERR_INIT;
	if (s->unattached.reason || attach(s, s->profiler->features, &why) == 0)
		return 0;
	if (!goes_on_outside(s, &why)) {
		*e = why;
		return -1;
	}
	s->unattached = why;
	if (!why.reason)
		s->unattached.reason = REASON_AttachFailed;
	return 0;
}

int attached_session_attach(struct attached_session *s, uint32_t features, struct err *e)
{
	STEP("attach");
	if (attach(s, features, e) == 0)
		return 0;
	attached_session_detach(s);
	return -1;
}

static void add_stats(struct channel_stats *sum, const struct channel_stats *more)
{
	sum->cpu_ns += more->cpu_ns;
	sum->dropped_samples += more->dropped_samples;
	sum->resolved += more->resolved;
	sum->unresolved += more->unresolved;
	sum->pauses += more->pauses;
	sum->paused_ns += more->paused_ns;
	sum->left |= more->left;
	sum->collections += more->collections;
	sum->collections_ns += more->collections_ns;
	if (more->memory_bytes > sum->memory_bytes)
		sum->memory_bytes = more->memory_bytes;
	if (more->max_pause_ns > sum->max_pause_ns)
		sum->max_pause_ns = more->max_pause_ns;
	if (more->max_wait_ns > sum->max_wait_ns)
		sum->max_wait_ns = more->max_wait_ns;
}

void attached_session_detach(struct attached_session *s)
{
	struct channel_stats stats = {0};
	struct err e = ERR_INIT;

	if (session_attach_end(&s->attach, s->q->target, &stats, &e) < 0) {
		LOG_WARN("session", e.message, LOG_I("pid", s->q->target->pid));
		s->out->left_behind = true;
	}
	if (*session_ending_left(stats.left))
		LOG_WARN("session", "the library could not undo all", LOG_S("left", session_ending_left(stats.left) + 2), LOG_I("pid", s->q->target->pid));
	add_stats(&s->stats, &stats);
	s->code = (struct code_client){0}; /* of a channel that is no more */
}

bool attached_session_paused(struct attached_session *s)
{
	if (s->attach.channel)
		return profiler_channel_pause(s->attach.channel, &s->pause);
	if (s->attach.pause.kind)
		s->pause = s->attach.pause;
	return s->attach.pause.kind;
}

bool attached_session_lapsed(const struct attached_session *s)
{
	return s->attach.channel ? profiler_channel_lapsed(s->attach.channel) : s->attach.lapsed;
}

static int step_start(struct attached_session *s, struct err *e)
{
	return s->profiler->start ? s->profiler->start(s, e) : 0;
}

static int step_collect(struct attached_session *s, struct err *e)
{
	(void)e;
	if (s->q->unattached && !target_alive(s->q->target))
		s->ending = ENDED_EXITED;
	attached_collect_run(s);
	return 0;
}

struct session_step {
	const char *name;
	int (*run)(struct attached_session *s, struct err *e);
};

static const struct session_step steps[] = {
	{"preflight", step_preflight}, {"open-process", step_open_process}, {"prepare", step_prepare}, {"attach", step_attach},
	{"start", step_start},	       {"collect", step_collect},	    {"stop", attached_collect_stop},
};

/* the end ------------------------------------------------------------------------------------------------------- */

/* What the process would have had us read was more than is read of any. */
static void note_work(struct attached_session *s)
{
	char what[WORK_WORDS_BYTES];
	if (work_thread_passed())
		limits_note(&s->facts.limits, "work", (int64_t)WORK_STEPS, -1,
			    "Not all %s were read: the process's memory or files would take more work than is spent on one "
			    "(%llu million steps, %lld s of CPU time).",
			    work_words(work_thread_passed(), what), (unsigned long long)WORK_STEPS / 1000000, (long long)(WORK_CPU_NS / 1000000000));
}

/* While who tells is there. */
static void note_exit(struct attached_session *s)
{
	int pid_fd = s->pid_fd >= 0 ? s->pid_fd : s->q->start ? s->q->start->pid_fd : -1;
	int proc_fd = s->proc_fd >= 0 ? s->proc_fd : s->q->start ? s->q->start->proc_fd : -1;
	s->facts.exit = process_exit_read(proc_fd, pid_fd);
}

/* The one way out, whatever has happened: no collecting, no library, no file of ours. */
static void leave_target(struct attached_session *s)
{
	session_delay_end(&s->delay, s->q->target, s->proc_fd, &s->facts);
	if (!s->profiler->visits)
		attached_session_detach(s);
	if ((s->ending == ENDED_NOT || s->ending == ENDED_IN_TIME) && attached_session_paused(s)) /* in the last moments */
		s->ending = ENDED_PAUSE;
	if (s->profiler->take)
		s->profiler->take(s);
	note_work(s);
	note_exit(s);
	if (s->proc_fd >= 0)
		close(s->proc_fd);
	if (s->pid_fd >= 0)
		close(s->pid_fd);
	s->proc_fd = s->pid_fd = -1;
}

static void fill_session_facts(struct attached_session *s)
{
	struct session_facts *f = &s->facts;
	f->duration_ns = s->started_ns ? s->ended_ns - s->started_ns : 0;
	f->ended_why = session_ending_why(s->ending);
	f->canceled = f->ended_why != NULL;
	f->process_ended = s->out->process_ended = s->ending == ENDED_EXITED;
	f->pid = s->q->target->inner_pid ? s->q->target->inner_pid : s->q->target->pid;
	target_copy(&f->target, s->q->target);
	f->cost.max_pause_us = (int64_t)(s->stats.max_pause_ns / 1000);
	f->cost.max_wait_us = (int64_t)(s->stats.max_wait_ns / 1000);
	f->cost.added_cpu_ms += (int64_t)(s->stats.cpu_ns / 1000000);
	f->cost.agent_cpu_ms = own_ms(s);
	f->cost.dropped_samples += (int64_t)s->stats.dropped_samples;
	f->cost.samples = s->samples;
	f->cost.blocking_collections = (int64_t)s->stats.collections;
	f->cost.blocking_collections_us = (int64_t)(s->stats.collections_ns / 1000);
	f->left = s->stats.left;
	f->kept_library_bytes = f->left & CHANNEL_LEFT_UNUSED ? (int64_t)s->attach.library_bytes : 0;
	s->out->cost = f->cost;
}

static void set_outcome(struct session_outcome *out, enum job_phase phase, const char *reason, const char *message)
{
	out->phase = phase;
	out->reason = reason;
	free(out->message);
	out->message = mem_strdup(message);
}

/* "the application was paused for 31.2 ms for a walk of the heap", "a thread of the application waited for 31.2 ms in a callback". A new string. */
static char *too_long(const struct channel_pause *p)
{
	bool all = p->kind == CHANNEL_PAUSE_WALK;
	const char *what = all ? "for a walk of the heap" : p->kind == CHANNEL_PAUSE_SIGNAL ? "for a sample" : "in a callback";
	const char *who = all ? "the application was paused" : "a thread of the application waited";

	return mem_printf("%s for %.1f ms %s, over the limit of %.1f ms: the profiler detached; ", who, (double)p->duration_ns / 1e6, what,
			  (double)p->budget_ns / 1e6);
}

/* What else is to be known of how it ended: "; ...", or "". A new string. */
static char *else_known(const struct attached_session *s)
{
	const struct err *stays = &s->attach.stays;
	char exit[SESSION_ENDING_EXIT_SIZE];

	return mem_printf("%s%s%s%s", s->out->process_ended ? session_ending_exit(&s->facts.exit, exit) : "", session_ending_left(s->stats.left),
			  stays->kind ? "; " : "", stays->kind ? stays->message : "");
}

/* How the session ended, when its reports are written or there was nothing to write. */
static void conclude_session(struct attached_session *s, bool any)
{
	struct session_ending_words w = session_ending_words(s->ending, any, s->facts.was_stopped, &s->profiler->nothing);
	AUTO_FREE char *pause = s->ending == ENDED_PAUSE ? too_long(&s->pause) : NULL, *more = else_known(s), *message = NULL;
	message = mem_printf("%s%s%s", pause ? pause : "", w.message, more);
	set_outcome(s->out, w.phase, w.reason, message);
}

static void analyze(struct attached_session *s)
{
	struct err e = ERR_INIT;
	bool any = s->profiler->any(s);
	if (!any && s->exited && s->ending == ENDED_IN_TIME) /* in the last moments */
		s->ending = ENDED_EXITED;
	STEP("analyze");
	attached_session_progress(s, JOB_ANALYZING);
	fill_session_facts(s);
	conclude_session(s, any);
	if (any && s->profiler->report(s, &s->out->report, &e) < 0)
		set_outcome(s->out, JOB_FAILED, reason_of_err(&e), e.message);
}

bool attached_session_ended(struct attached_session *s)
{
	struct pollfd cancel = {.fd = s->q->cancel_fd, .events = POLLIN};
	if (poll(&cancel, 1, 0) > 0)
		s->ending = session_ending_early();
	else if (s->q->deadline_ms && clock_mono_ms() >= s->q->deadline_ms)
		s->ending = ENDED_DEADLINE;
	return s->ending != ENDED_NOT;
}

/* Ended before the library was there, or before anything was begun with it: nothing has to be collected any more. */
static bool ended_before_attach(struct attached_session *s)
{
	return !s->attached && !s->unattached.reason && attached_session_ended(s);
}

/* What was in the way of a step that failed is often more than what the step saw. */
static void name_failure(struct attached_session *s, struct err *e)
{
	if (attached_session_paused(s))
		s->ending = ENDED_PAUSE;
	else if (attached_session_lapsed(s))
		s->ending = ENDED_LAPSED;
	else if (s->pid_fd >= 0 && attached_session_process_exited(s, e->kind == ERR_GONE || e->kind == ERR_PROTOCOL ? EXIT_GRACE_MS : 0))
		err_set_reason(e, ERR_GONE, REASON_ProcessExited, "the process ended while its session began");
	else if (e->kind == ERR_TIMEOUT && target_stopped(s->q->target))
		err_set_reason(e, ERR_RETRY, REASON_ProcessStopped, "the process was stopped or frozen while its session began");
	else if (!e->reason && (s->attached || e->kind == ERR_TIMEOUT || e->kind == ERR_PROTOCOL || e->kind == ERR_GONE || e->kind == ERR_RETRY))
		e->reason = REASON_AttachFailed; /* the library does not do its part, the runtime refuses it, or something has run out here */
}

/* A step of an attached session that failed because the session was to end. */
static bool ended_meanwhile(struct attached_session *s)
{
	return ended_before_attach(s) || s->ending == ENDED_CANCELED || s->ending == ENDED_STOPPED || s->ending == ENDED_DEADLINE || s->ending == ENDED_PAUSE ||
	       s->ending == ENDED_LAPSED;
}

/* What was sampled since the container began is something to report without the library, too. */
static bool goes_without_library(struct attached_session *s)
{
	struct err e = ERR_INIT;
	if (!s->q->start || !attached_session_process_exited(s, EXIT_GRACE_MS) || (!s->started_ns && step_prepare(s, &e) < 0))
		return false;
	s->ending = ENDED_EXITED;
	return attached_collect_stop(s, NULL) == 0;
}

/* Steps that a session without the library does not take. */
static bool is_of_library(const struct attached_session *s, const struct session_step *step)
{
	return (s->profiler->visits && step->run == step_attach) || (s->q->unattached && step->run == step_start);
}

/* NULL: all done, or ended early. */
static const struct session_step *run_session_steps(struct attached_session *s, struct err *e)
{
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		if (is_of_library(s, &steps[i]))
			continue;
		STEP(steps[i].name);
		if (ended_before_attach(s))
			return NULL;
		if (steps[i].run(s, e) < 0) {
			name_failure(s, e);
			return ended_meanwhile(s) || goes_without_library(s) ? NULL : &steps[i];
		}
		attached_session_progress(s, s->progress.phase); /* a sign of life: the next step may wait as long as this one */
	}
	return NULL;
}

void attached_session_run(const struct session_profiler *p, const struct session_request *q, struct session_outcome *out)
{
	struct attached_session s = {.profiler = p, .q = q, .out = out, .proc_fd = -1, .pid_fd = -1, .own_fd = -1};
	s.attach.stage.dir_fd = s.attach.stage.tmp_fd = -1;
	s.own = mem_alloc(p->own_size ? p->own_size : 1);
	buf_init(&s.live, LIVE_BYTES);
	s.own_begin_ns = own_cpu_ns();
	struct err e = ERR_INIT;
	const struct session_step *failed = run_session_steps(&s, &e);
	if (!s.ended_ns)
		s.ended_ns = attached_session_over_ns(&s);
	leave_target(&s);
	if (failed) {
		LOG_INFO("session", "failed", LOG_S("step", failed->name), LOG_S("why", e.message), LOG_I("pid", q->target->pid));
		out->process_ended = e.reason == REASON_ProcessExited;
		AUTO_FREE char *more = else_known(&s), *message = mem_printf("%s%s", e.message, more);
		set_outcome(out, JOB_FAILED, reason_of_err(&e), message);
		out->cost.agent_cpu_ms = own_ms(&s);
	} else {
		analyze(&s);
	}
	if (p->fini)
		p->fini(&s);
	free(s.own);
	buf_fini(&s.live);
	session_facts_fini(&s.facts);
}
