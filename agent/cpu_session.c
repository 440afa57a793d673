#include "agent/cpu_session.h"

#include "agent/cpu_account.h"
#include "agent/cpu_collect.h"
#include "agent/cpu_ending.h"
#include "agent/kernel_symbols.h"
#include "agent/perf_sampler.h"
#include "agent/session_attach.h"
#include "agent/target_fs.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/step.h"
#include "common/proto/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define TICK_MS 1000
#define EAGER_MS 10            /* until the first sample is there */
#define ATTACH_DEADLINE_MS 10000
#define ANSWER_MS 5000
#define LATE_ANSWER_MS 1000    /* after the session's deadline */
#define SAMPLING_DEADLINE_MS 5000
#define EXIT_GRACE_MS 1000     /* a process that ends closes its descriptors some moments before it is gone */

struct cpu_session {
	const struct session_request *q;
	struct session_outcome *out;
	struct session_progress progress;
	struct cpu_capture capture;
	struct cpu_account account;
	struct session_attach attach;
	struct perf_sampler *perf; /* NULL: the library's timers sample */
	struct cpu_collect *collect;
	struct channel_stats stats;
	int proc_fd, pid_fd;       /* -1 in shared tmp mode */
	int64_t started_ns, ended_ns;
	enum cpu_ending ending;
	struct channel_pause pause; /* that ended it */
	bool attached;
	bool broken;               /* the channel: nothing can be asked any more */
	bool stopped, was_stopped; /* the process could not run: at the last look, at any */
};

static void report_progress(struct cpu_session *s, enum job_phase phase)
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
	report_progress(s, JOB_PREPARING);
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

/* the loop ------------------------------------------------------------------------------------------------------ */

static void on_perf_sample(void *ctx, const struct perf_sample *x)
{
	cpu_collect_perf_sample(ctx, x);
}

static void on_comm(void *ctx, uint32_t tid, const char *comm)
{
	cpu_collect_thread_name(ctx, tid, comm);
}

static void on_timer_sample(void *ctx, const struct channel_sample *x)
{
	cpu_collect_timer_sample(ctx, x);
}

static bool process_exited(const struct cpu_session *s, int64_t grace_ms)
{
	struct pollfd p = {.fd = s->pid_fd, .events = POLLIN};
	return !target_alive(s->q->target) || (s->pid_fd >= 0 && poll(&p, 1, (int)grace_ms) > 0);
}

static void channel_over(struct cpu_session *s, const struct err *why)
{
	if (profiler_channel_pause(s->attach.channel, &s->pause))
		s->ending = ENDED_PAUSE;
	else if (s->ending == ENDED_NOT || s->ending == ENDED_IN_TIME || s->ending == ENDED_DEADLINE)
		s->ending = process_exited(s, EXIT_GRACE_MS) ? ENDED_EXITED : ENDED_CHANNEL_LOST;
	s->broken = true;
	LOG_DEBUG("session", "the channel closed", LOG_S("why", why->message));
}

static void look_whether_stopped(struct cpu_session *s)
{
	s->stopped = target_stopped(s->q->target);
	s->was_stopped |= s->stopped;
}

/* A library that cannot run is asked nothing: it would cost the answer's time limit. */
static bool may_ask(const struct cpu_session *s)
{
	return s->attached && !s->broken && !s->stopped && s->ending != ENDED_EXITED;
}

static int64_t answer_until_ms(const struct cpu_session *s)
{
	int64_t now_ms = clock_mono_ms(), until_ms = now_ms + ANSWER_MS;
	int64_t last_ms = s->q->deadline_ms > now_ms ? s->q->deadline_ms : now_ms;
	return s->q->deadline_ms && last_ms + LATE_ANSWER_MS < until_ms ? last_ms + LATE_ANSWER_MS : until_ms;
}

static void no_answer(struct cpu_session *s, const char *what, const struct err *e)
{
	LOG_WARN("session", what, LOG_S("why", e->message), LOG_I("pid", s->q->target->pid));
	if (e->kind == ERR_GONE || e->kind == ERR_PROTOCOL)
		channel_over(s, e);
	else
		look_whether_stopped(s);
}

static int resolve(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out)
{
	struct cpu_session *s = ctx;
	struct err e = ERR_INIT;
	if (!may_ask(s))
		return -1;
	STEP("name");
	if (profiler_channel_resolve(s->attach.channel, ips, count, out, answer_until_ms(s), &e) == 0)
		return 0;
	no_answer(s, "names could not be asked for", &e);
	return -1;
}

static void drain(struct cpu_session *s)
{
	if (s->perf)
		perf_sampler_drain(s->perf, on_perf_sample, on_comm, s->collect);
	if (cpu_collect_wants_flush(s->collect))
		cpu_collect_flush(s->collect, resolve, s);
}

/* The runtime tells when it collects garbage; the library's room for that is bounded, so it is fetched while the session runs. */
static void fetch_collections(struct cpu_session *s)
{
	const struct channel_collection *list;
	struct cpu_capture *c = &s->capture;
	struct err e = ERR_INIT;
	size_t count;
	if (!may_ask(s))
		return;
	if (profiler_channel_collections(s->attach.channel, &list, &count, answer_until_ms(s), &e) < 0) {
		no_answer(s, "collections could not be asked for", &e);
		return;
	}
	c->collections = mem_realloc(c->collections, count + 1, sizeof *c->collections);
	for (size_t i = c->collection_count; i < count; i++)
		c->collections[i] = (struct capture_collection){
			.start_ns = (int64_t)list[i].start_ns - s->started_ns,
			.end_ns = (int64_t)list[i].end_ns - s->started_ns,
			.tid = list[i].tid,
			.generation = (int)list[i].generation,
		};
	c->collection_count = count;
}

/* While the process is stopped the samples wait for their names, until the last tick. */
static void tick(struct cpu_session *s, bool last)
{
	STEP("tick");
	look_whether_stopped(s);
	drain(s);
	if (last || may_ask(s))
		cpu_collect_flush(s->collect, resolve, s);
	fetch_collections(s);
	cpu_account_update(&s->account);
	report_progress(s, JOB_PROFILING);
}

static void serve_channel(struct cpu_session *s)
{
	struct err e = ERR_INIT;
	if (s->broken)
		return;
	bool over = profiler_channel_poll(s->attach.channel, on_timer_sample, s->collect, clock_mono_ms(), &e) < 0;
	if (over || profiler_channel_pause(s->attach.channel, &s->pause))
		channel_over(s, &e);
}

/* Waits for something to do, at most until `until_ms`. */
static void wait_and_serve(struct cpu_session *s, int64_t until_ms)
{
	enum { CHANNEL, CANCEL, PROCESS, RINGS, COUNT };
	struct pollfd p[COUNT] = {
		[CHANNEL] = {.fd = profiler_channel_fd(s->attach.channel), .events = POLLIN},
		[CANCEL] = {.fd = s->q->cancel_fd, .events = POLLIN},
		[PROCESS] = {.fd = s->pid_fd, .events = POLLIN},
		[RINGS] = {.fd = s->perf ? perf_sampler_fd(s->perf) : -1, .events = POLLIN},
	};
	int64_t wait_ms = until_ms - clock_mono_ms();
	if (poll(p, COUNT, wait_ms > 0 ? (int)wait_ms : 0) <= 0)
		return;
	if (p[RINGS].revents)
		drain(s);
	if (p[PROCESS].revents)
		s->ending = ENDED_EXITED;
	else if (p[CANCEL].revents)
		s->ending = ENDED_CANCELED;
	if (p[CHANNEL].revents)
		serve_channel(s);
}

static int step_collect(struct cpu_session *s, struct err *e)
{
	(void)e;
	int64_t end_ms = s->started_ns / 1000000 + s->q->spec->duration_seconds * 1000;
	bool cut = s->q->deadline_ms && s->q->deadline_ms < end_ms;
	if (cut)
		end_ms = s->q->deadline_ms;
	report_progress(s, JOB_PROFILING);
	int64_t next_tick_ms = clock_mono_ms() + TICK_MS, now_ms;
	while (s->ending == ENDED_NOT && (now_ms = clock_mono_ms()) < end_ms) {
		bool eager = s->perf && !cpu_collect_first_sample_ns(s->collect);
		int64_t until_ms = eager && now_ms + EAGER_MS < next_tick_ms ? now_ms + EAGER_MS : next_tick_ms;
		wait_and_serve(s, until_ms < end_ms ? until_ms : end_ms);
		if (eager)
			drain(s);
		if (eager && cpu_collect_first_sample_ns(s->collect))
			report_progress(s, JOB_PROFILING);
		if (clock_mono_ms() >= next_tick_ms) {
			tick(s, false);
			next_tick_ms += TICK_MS;
		}
	}
	if (s->ending == ENDED_NOT)
		s->ending = cut ? ENDED_DEADLINE : ENDED_IN_TIME;
	return 0;
}

static int step_stop(struct cpu_session *s, struct err *e)
{
	(void)e;
	s->ended_ns = clock_mono_ns();
	look_whether_stopped(s);
	struct err inner = ERR_INIT;
	if (s->perf)
		perf_sampler_stop(s->perf);
	else if (may_ask(s)) {
		if (profiler_channel_sample_stop(s->attach.channel, answer_until_ms(s), &inner) < 0)
			no_answer(s, "the timers could not be stopped in order", &inner);
		serve_channel(s);
	}
	tick(s, true);
	cpu_collect_finish(s->collect);
	return 0;
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
	{"collect", step_collect},
	{"stop", step_stop},
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
	report_progress(s, JOB_ANALYZING);
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
	if (s->pid_fd >= 0 && process_exited(s, e->kind == ERR_GONE || e->kind == ERR_PROTOCOL ? EXIT_GRACE_MS : 0))
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
		report_progress(s, s->progress.phase); /* a sign of life: the next step may wait as long as this one */
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
