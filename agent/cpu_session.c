#include "agent/cpu_session.h"

#include "agent/cpu_session_private.h"
#include "agent/kernel_symbols.h"
#include "agent/target_fs.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/step.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define ATTACH_DEADLINE_MS 10000
#define SAMPLING_DEADLINE_MS 5000

void cpu_session_progress(struct cpu_session *s, enum job_phase phase)
{
	struct session_progress *p = &s->progress;
	int64_t first_ns = s->collect ? cpu_collect_first_sample_ns(s->collect) : 0;
	int64_t now_ns = clock_mono_ns();
	p->phase = phase;
	p->duration_ms = s->q->spec->duration_seconds * 1000;
	p->elapsed_ms = s->started_ns ? ((s->ended_ns ? s->ended_ns : now_ns) - s->started_ns) / 1000000 : 0;
	p->samples = s->collect ? (int64_t)cpu_collect_sample_count(s->collect) : p->samples;
	if (first_ns && !p->first_sample_wall_ms)
		p->first_sample_wall_ms = clock_wall_ms() - (now_ns - first_ns) / 1000000;
	s->out->first_sample_wall_ms = p->first_sample_wall_ms;
	if (s->q->on_progress)
		s->q->on_progress(s->q->progress_ctx, p);
}

/* steps --------------------------------------------------------------------------------------------------------- */

static int step_preflight(struct cpu_session *s, struct err *e)
{
	cpu_session_progress(s, JOB_PREPARING);
	return preflight_check(s->q->target, e);
}

/* From here on the process is held by descriptors: a reused pid is not taken for it. */
static int step_open_process(struct cpu_session *s, struct err *e)
{
	const struct target *t = s->q->target;
	if (t->mode != AGENT_MODE_HOST_PID)
		return 0;
	s->proc_fd = target_open_proc(t, e);
	if (s->proc_fd < 0)
		return -1;
	s->pid_fd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (!target_alive(t))
		return err_set_reason(e, ERR_GONE, REASON_ProcessExited, "the process has ended");
	return 0;
}

static void fall_back_to_timers(struct cpu_session *s, const struct err *why)
{
	s->capture.method = "signal-timer";
	s->capture.fallback_reason = why->reason ? why->reason : REASON_PerfEventsForbidden;
	s->capture.fallback_message = mem_strdup(why->message);
	LOG_INFO("session", "sampling by timers in the process", LOG_S("why", why->message));
}

/* Perf events come before the library: samples flow from here on, their names follow when it is attached. */
static int step_start_perf(struct cpu_session *s, struct err *e)
{
	const struct target *t = s->q->target;
	struct err why = ERR_INIT;
	cpu_account_begin(&s->account);
	if (t->mode != AGENT_MODE_HOST_PID) {
		err_set_reason(&why, ERR_DENIED, REASON_PerfEventsForbidden,
			       "without the host's pid namespace the kernel lets the agent see no other process");
		fall_back_to_timers(s, &why);
		return 0;
	}
	struct perf_sampler_options o = {
		.pid = t->pid,
		.proc_fd = s->proc_fd,
		.frequency_hertz = s->q->spec->frequency_hertz,
		.kernel_chains = kernel_symbols_allowed("/proc"),
	};
	s->perf = perf_sampler_open(&o, &why);
	if (s->perf) {
		s->capture.method = perf_sampler_way(s->perf) == PERF_WAY_CPU ? "perf-cpu" : "perf-thread";
		s->capture.kernel_frames = perf_sampler_kernel(s->perf);
	} else if (why.kind == ERR_GONE) {
		*e = why;
		return -1;
	} else {
		fall_back_to_timers(s, &why);
	}
	return 0;
}

static int step_start_collecting(struct cpu_session *s, struct err *e)
{
	(void)e;
	s->started_ns = s->perf ? perf_sampler_started_ns(s->perf) : clock_mono_ns();
	s->out->started_wall_ms = s->capture.started_wall_ms = clock_wall_ms() - (clock_mono_ns() - s->started_ns) / 1000000;
	const struct target *t = s->q->target;
	struct cpu_collect_options o = {
		.capture = &s->capture,
		.proc_fd = s->proc_fd,
		.same_ids = t->pid == t->inner_pid || !s->perf,
		.started_ns = s->started_ns,
		.max_depth = s->perf ? perf_sampler_max_depth(s->perf) : 0,
	};
	s->collect = cpu_collect_new(&o);
	cpu_collect_begin(s->collect);
	return 0;
}

static int step_attach(struct cpu_session *s, struct err *e)
{
	int64_t until_ms = clock_mono_ms() + ATTACH_DEADLINE_MS;
	if (s->q->deadline_ms && s->q->deadline_ms < until_ms)
		until_ms = s->q->deadline_ms;
	s->attached = session_attach_begin(&s->attach, s->q->target, s->q->library_path, s->q->spec->pause_budget_ms, until_ms, e) == 0;
	s->capture.beside_profiler = s->attached && profiler_channel_notification_only(s->attach.channel);
	return s->attached ? 0 : -1;
}

static int step_start_timers(struct cpu_session *s, struct err *e)
{
	if (s->perf)
		return 0;
	return profiler_channel_sample_start(s->attach.channel, s->q->spec->frequency_hertz, clock_mono_ms() + SAMPLING_DEADLINE_MS, e);
}

bool cpu_session_process_exited(const struct cpu_session *s, int64_t grace_ms)
{
	struct pollfd p = {.fd = s->pid_fd, .events = POLLIN};
	return !target_alive(s->q->target) || (s->pid_fd >= 0 && poll(&p, 1, (int)grace_ms) > 0);
}

struct step {
	const char *name;
	int (*run)(struct cpu_session *s, struct err *e);
};

static const struct step steps[] = {
	{"preflight", step_preflight},
	{"open-process", step_open_process},
	{"start-perf", step_start_perf},
	{"start-collecting", step_start_collecting},
	{"attach", step_attach},
	{"start-timers", step_start_timers},
	{"collect", cpu_sampling_run},
	{"stop", cpu_sampling_stop},
};

/* the end ------------------------------------------------------------------------------------------------------- */

/* The one way out, whatever has happened: no sampling, no library, no file of ours. */
static void leave(struct cpu_session *s)
{
	struct err e = ERR_INIT;
	if (session_attach_end(&s->attach, s->q->target, &s->stats, &e) < 0) {
		LOG_WARN("session", e.message, LOG_I("pid", s->q->target->pid));
		s->out->left_behind = true;
	}
	if (s->perf) {
		s->capture.lost_samples = (int64_t)perf_sampler_stats(s->perf)->lost;
		s->capture.dropped += (int64_t)perf_sampler_stats(s->perf)->malformed;
	}
	perf_sampler_close(s->perf);
	cpu_collect_free(s->collect);
	if (s->proc_fd >= 0)
		close(s->proc_fd);
	if (s->pid_fd >= 0)
		close(s->pid_fd);
	s->perf = NULL;
	s->collect = NULL;
	s->proc_fd = s->pid_fd = -1;
}

static void fill_costs(struct cpu_session *s)
{
	struct cpu_capture *c = &s->capture;
	cpu_account_report(&s->account, c);
	c->frequency_hertz = s->q->spec->frequency_hertz;
	c->duration_ns = s->ended_ns - s->started_ns;
	c->ended_why = cpu_ending_why(s->ending);
	c->canceled = c->ended_why != NULL;
	c->was_stopped = s->was_stopped;
	c->pid = s->q->target->inner_pid ? s->q->target->inner_pid : s->q->target->pid;
	target_copy(&c->target, s->q->target);
	c->cost = (struct session_cost){
		.max_pause_us = (int64_t)(s->stats.max_pause_ns / 1000),
		.added_cpu_ms = (int64_t)(s->stats.cpu_ns / 1000000),
		.agent_cpu_ms = cpu_account_own_ms(&s->account),
		.dropped_samples = c->lost_samples + c->dropped + (int64_t)s->stats.dropped_samples,
		.samples = (int64_t)c->sample_count,
	};
	s->out->cost = c->cost;
}

static void set_outcome(struct session_outcome *out, enum job_phase phase, const char *reason, const char *message)
{
	out->phase = phase;
	out->reason = reason;
	free(out->message);
	out->message = mem_strdup(message);
}

/* How the session ended, when its reports are written or there was nothing to write. */
static void conclude(struct cpu_session *s)
{
	struct cpu_ending_words w = cpu_ending_words(s->ending, s->capture.sample_count > 0, s->was_stopped);
	AUTO_FREE char *held = NULL;
	if (s->ending == ENDED_PAUSE)
		held = mem_printf("a thread of the application was held for %.1f ms %s, the session allows %.1f ms: the library left; %s",
				  (double)s->pause.duration_ns / 1e6, s->pause.kind == CHANNEL_PAUSE_SIGNAL ? "for a sample" : "in a callback",
				  (double)s->pause.budget_ns / 1e6, w.message);
	set_outcome(s->out, w.phase, w.reason, held ? held : w.message);
}

static void analyze(struct cpu_session *s)
{
	struct err e = ERR_INIT;
	STEP("analyze");
	cpu_session_progress(s, JOB_ANALYZING);
	fill_costs(s);
	conclude(s);
	if (s->capture.sample_count == 0)
		return;
	if (report_write_cpu(&s->capture, s->q->spec, s->q->context, s->q->out_dirfd, &s->out->report, &e) < 0)
		set_outcome(s->out, JOB_FAILED, e.reason ? e.reason : REASON_InternalError, e.message);
}

/* Ended before the library was there: nothing has to be collected any more. */
static bool ended_before_attach(struct cpu_session *s)
{
	struct pollfd cancel = {.fd = s->q->cancel_fd, .events = POLLIN};
	if (s->attached)
		return false;
	if (poll(&cancel, 1, 0) > 0)
		s->ending = ENDED_CANCELED;
	else if (s->q->deadline_ms && clock_mono_ms() >= s->q->deadline_ms)
		s->ending = ENDED_DEADLINE;
	return s->ending != ENDED_NOT;
}

/* What was in the way of a step that failed is often more than what the step saw. */
static void name_failure(struct cpu_session *s, struct err *e)
{
	if (s->pid_fd >= 0 && cpu_session_process_exited(s, e->kind == ERR_GONE || e->kind == ERR_PROTOCOL ? CPU_EXIT_GRACE_MS : 0))
		err_set_reason(e, ERR_GONE, REASON_ProcessExited, "the process ended while its session began");
	else if (e->kind == ERR_TIMEOUT && target_stopped(s->q->target))
		err_set_reason(e, ERR_RETRY, REASON_ProcessStopped, "the process was stopped or frozen while its session began");
	else if (!e->reason && (e->kind == ERR_TIMEOUT || e->kind == ERR_PROTOCOL || e->kind == ERR_GONE))
		e->reason = REASON_AttachFailed; /* it is the library that does not do its part */
}

/* NULL: all done, or ended early. */
static const struct step *run_steps(struct cpu_session *s, struct err *e)
{
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		STEP(steps[i].name);
		if (ended_before_attach(s))
			return NULL;
		if (steps[i].run(s, e) < 0) {
			name_failure(s, e);
			return ended_before_attach(s) ? NULL : &steps[i];
		}
		cpu_session_progress(s, s->progress.phase); /* a sign of life: the next step may wait as long as this one */
	}
	return NULL;
}

void cpu_session_run(const struct session_request *q, struct session_outcome *out)
{
	struct cpu_session s = {.q = q, .out = out, .proc_fd = -1, .pid_fd = -1};
	s.attach.stage.dir_fd = s.attach.stage.tmp_fd = -1;
	struct err e = ERR_INIT;
	cpu_account_init(&s.account, q->target->pid);
	const struct step *failed = run_steps(&s, &e);
	leave(&s);
	if (failed) {
		LOG_INFO("session", "failed", LOG_S("step", failed->name), LOG_S("why", e.message), LOG_I("pid", q->target->pid));
		set_outcome(out, JOB_FAILED, e.reason ? e.reason : REASON_InternalError, e.message);
		out->cost.agent_cpu_ms = cpu_account_own_ms(&s.account);
	} else {
		analyze(&s);
	}
	cpu_capture_fini(&s.capture);
}
