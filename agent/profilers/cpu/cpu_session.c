#include "agent/profilers/cpu/cpu_session.h"

#include "agent/stacks/outside_names.h"
#include "agent/stacks/cpu_account.h"
#include "agent/stacks/cpu_analysis.h"
#include "agent/stacks/cpu_collect.h"
#include "agent/profilers/cpu/cpu_report.h"
#include "agent/host/listening.h"
#include "agent/symbols/kernel_symbols.h"
#include "agent/perf/perf_pump.h"
#include "agent/starts/start_capture.h"
#include "agent/waits/start_waits.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/size_text.h"
#include "common/base/step.h"

#include <string.h>

#define SAMPLING_DEADLINE_MS 5000
#define NOTABLE_PART 50 /* of the CPU time */
#define PORT_LOOK_MS 30
#define LAST_TURNS 8 /* of input: more than a socket holds */

struct cpu_own {
	struct cpu_capture capture;
	struct cpu_account account;
	struct perf_sampler *perf; /* NULL: the library's timers sample */
	struct perf_pump *pump;    /* reads them */
	int64_t looked_for_port_ns;
	struct start_waits waits;  /* of a session that begins with its process */
	bool left_group;           /* and was not sampled afterwards */
	struct cpu_collect *collect;
	struct channel_sampling sampling; /* by timers: the library's word */
};

static struct cpu_own *cpu_session_own(const struct attached_session *s)
{
	return s->own;
}

/* Of a container that is sampled since its start there may be samples of other processes. */
static void on_perf_sample(void *session, const struct perf_sample *x)
{
	const struct attached_session *s = session;
	if (!s->q->start || x->pid == (uint32_t)s->q->target->pid)
		cpu_collect_perf_sample(cpu_session_own(s)->collect, x);
}

static void on_perf_comm(void *session, uint32_t tid, const char *comm)
{
	cpu_collect_thread_name(cpu_session_own(session)->collect, tid, comm);
}

static void on_timer_sample(void *ctx, const struct channel_sample *x)
{
	cpu_collect_timer_sample(ctx, x);
}

/* before the attach ------------------------------------------------------------------------------------------------ */

static void fall_back_to_timers(struct cpu_own *o, const struct err *why)
{
	o->capture.method = "signal-timer";
	o->capture.fallback_reason = why->reason ? why->reason : REASON_PerfEventsForbidden;
	o->capture.fallback_message = mem_strdup(why->message);
	LOG_INFO("session", "sampling by timers in the process", LOG_S("why", why->message));
}

static void name_method(struct cpu_own *o)
{
	o->capture.method = perf_sampler_way(o->perf) == PERF_WAY_CPU ? "perf-cpu" : "perf-thread";
	o->capture.kernel_frames = perf_sampler_kernel(o->perf);
}

/* Its samples flow since the container began. */
static void take_start(struct attached_session *s)
{
	struct cpu_own *o = cpu_session_own(s);
	struct start_capture *c = s->q->start;
	o->perf = c->perf;
	o->pump = c->pump;
	c->perf = NULL;
	c->pump = NULL;
	o->capture.start.runtime_ns = c->runtime_ns - c->container.appeared_ns;
	name_method(o);
}

static int start_perf(struct attached_session *s, struct err *e)
{
	struct cpu_own *o = cpu_session_own(s);
	const struct target *t = s->q->target;
	struct err why = ERR_INIT;
	if (t->mode != AGENT_MODE_HOST_PID) {
		err_set_reason(&why, ERR_DENIED, REASON_PerfEventsForbidden,
			       "without the host's pid namespace the kernel lets the agent see no other process");
		fall_back_to_timers(o, &why);
		return 0;
	}
	if (s->q->start) {
		take_start(s);
		return 0;
	}
	struct perf_sampler_options options = {
		.pid = t->pid,
		.proc_fd = s->proc_fd,
		.frequency_hertz = s->q->spec->frequency_hertz,
		.kernel_chains = kernel_symbols_allowed("/proc"),
		.stacks = true,
	};
	o->perf = perf_sampler_open(&options, &why);
	o->pump = o->perf ? perf_pump_start(o->perf, &why) : NULL;
	if (o->perf && !o->pump) {
		perf_sampler_close(o->perf);
		o->perf = NULL;
	}
	if (o->perf) {
		name_method(o);
		LOG_DEBUG("session", "sampling by perf events", LOG_S("method", o->capture.method),
			  LOG_S("filter", perf_sampler_filtered(o->perf) ? "container" : "none"));
	} else if (why.kind == ERR_GONE) {
		*e = why;
		return -1;
	} else {
		fall_back_to_timers(o, &why);
	}
	return 0;
}

static void start_collecting(struct attached_session *s)
{
	struct cpu_own *o = cpu_session_own(s);
	const struct target *t = s->q->target;
	struct cpu_collect_options options = {
		.capture = &o->capture,
		.proc_fd = s->proc_fd,
		.same_ids = t->pid == t->inner_pid || !o->perf,
		.started_ns = s->started_ns,
		.max_depth = o->perf ? perf_sampler_max_depth(o->perf) : 0,
		.by_timers = !o->perf,
		.code = o->perf ? attached_session_ask_code : NULL,
		.code_ctx = s,
		.il = attached_session_ask_il,
		.il_ctx = s,
		.root_fd = -1,
	};
	if (s->q->start) { /* its process may end before it is read again */
		options.maps = &s->q->start->maps;
		options.main_path = s->q->start->main_path;
		options.root_fd = s->q->start->root_fd;
	}
	o->collect = cpu_collect_new(&options);
	cpu_collect_begin(o->collect);
}

static bool begins_with_process(const struct attached_session *s)
{
	return s->q->start || s->q->launched;
}

/* Perf events come before the library: samples flow from here on, their names follow when it is attached. */
static int cpu_session_prepare(struct attached_session *s, struct err *e)
{
	struct cpu_own *o = cpu_session_own(s);
	const struct target *t = s->q->target;
	o->capture.start = (struct capture_start){.known = begins_with_process(s), .launched = s->q->launched};
	o->capture.start.main_tid = t->inner_pid ? t->inner_pid : t->pid;
	cpu_account_init(&o->account, s->q->target);
	if (s->q->start)
		cpu_account_begin_at_birth(&o->account, &s->q->start->group_begin);
	else
		cpu_account_begin(&o->account);
	STEP("start-perf");
	if (start_perf(s, e) < 0)
		return -1;
	s->started_ns = s->q->start ? s->q->start->container.appeared_ns : o->perf ? perf_sampler_started_ns(o->perf) : clock_mono_ns();
	s->own_fd = o->pump ? perf_pump_fd(o->pump) : -1;
	s->eager = o->perf != NULL; /* until the first sample is there */
	STEP("start-collecting");
	start_collecting(s);
	return 0;
}

/* attached ----------------------------------------------------------------------------------------------------------- */

static int cpu_session_start(struct attached_session *s, struct err *e)
{
	STEP("start-timers");
	if (begins_with_process(s)) {
		cpu_session_own(s)->capture.start.attached_ns = clock_mono_ns() - s->started_ns;
		start_waits_begin(&cpu_session_own(s)->waits, s);
		s->eager = true;
	}
	if (cpu_session_own(s)->perf)
		return 0;
	if (s->unattached.reason == REASON_NativeAOT)
		return err_set_reason(e, ERR_DENIED, REASON_PerfEventsForbidden,
				      "a Native AOT application can be sampled by perf events only, and the kernel refuses them: %s",
				      cpu_session_own(s)->capture.fallback_message);
	return profiler_channel_sample_start(s->attach.channel, s->q->spec->frequency_hertz, clock_mono_ms() + SAMPLING_DEADLINE_MS, e);
}

static bool waits_for_port(const struct attached_session *s)
{
	const struct cpu_own *o = s->own;
	return begins_with_process(s) && s->proc_fd >= 0 && !o->capture.start.listens_ns;
}

/* Looked for until it is there: how long an application takes to serve is what a slow start is about. */
static void look_for_port(struct attached_session *s)
{
	struct cpu_own *o = cpu_session_own(s);
	int64_t now_ns = clock_mono_ns();
	bool last = s->ending != ENDED_NOT;
	if (!waits_for_port(s) || (!last && now_ns - o->looked_for_port_ns < PORT_LOOK_MS * 1000000))
		return;
	o->looked_for_port_ns = now_ns;
	o->capture.start.port = listening_port(s->proc_fd);
	if (!o->capture.start.port)
		return;
	o->capture.start.listens_ns = now_ns - s->started_ns;
	start_waits_end(&o->waits);
}

static void note_samples(struct attached_session *s)
{
	s->samples = (int64_t)cpu_collect_sample_count(cpu_session_own(s)->collect);
	s->first_sample_ns = cpu_collect_first_sample_ns(cpu_session_own(s)->collect);
	s->eager = (s->eager && !s->first_sample_ns) || waits_for_port(s);
}

static void drain_perf_pump(struct attached_session *s)
{
	struct cpu_own *o = cpu_session_own(s);
	look_for_port(s);
	start_waits_look(&o->waits);
	if (o->pump)
		perf_pump_take(o->pump, on_perf_sample, on_perf_comm, s);
	if (cpu_collect_wants_flush(o->collect))
		cpu_collect_flush(o->collect, attached_session_resolve, s);
	note_samples(s);
}

/* The runtime tells when it collects garbage; the library's room for that is bounded, so it is fetched while the session runs. */
static void cpu_session_fetch_gcs(struct attached_session *s)
{
	const struct channel_collection *list;
	size_t count;
	if (attached_session_collections(s, &list, &count) == 0)
		capture_set_collections(&cpu_session_own(s)->capture, list, count, s->started_ns);
}

/* While the process is stopped the samples wait for their names, until the last tick. */
static void cpu_session_tick(struct attached_session *s, bool last)
{
	drain_perf_pump(s);
	if (last || attached_session_may_ask(s))
		cpu_collect_flush(cpu_session_own(s)->collect, attached_session_resolve, s);
	start_waits_tick(&cpu_session_own(s)->waits, last);
	cpu_session_fetch_gcs(s);
	if (!last || !cpu_session_own(s)->perf) /* what naming costs the process after the last sample is not its own work */
		cpu_account_update(&cpu_session_own(s)->account);
	note_samples(s);
	if (last)
		cpu_collect_finish(cpu_session_own(s)->collect);
}

static int cpu_session_serve(struct attached_session *s, struct err *e)
{
	if (!s->attach.channel)
		return 0;
	int n = profiler_channel_poll(s->attach.channel, on_timer_sample, cpu_session_own(s)->collect, clock_mono_ms(), e);
	note_samples(s);
	return n;
}

/* Takes what the library has said, also one that has ended meanwhile or that cannot run now. */
static void take_last_samples(struct attached_session *s)
{
	struct err e = ERR_INIT;
	for (int turn = 0; turn < LAST_TURNS; turn++) {
		if (cpu_session_serve(s, &e) < 0) {
			if (!s->broken)
				attached_session_no_answer(s, "the last samples could not be read", &e);
			return;
		}
	}
}

static int cpu_session_stop(struct attached_session *s, struct err *e)
{
	struct err inner = ERR_INIT;
	(void)e;
	if (cpu_session_own(s)->perf) {
		cpu_session_own(s)->left_group = perf_sampler_left_group(cpu_session_own(s)->perf);
		perf_sampler_stop(cpu_session_own(s)->perf);
		cpu_account_update(&cpu_session_own(s)->account);
		perf_pump_stop(cpu_session_own(s)->pump);
		return 0;
	}
	if (attached_session_may_ask(s) && profiler_channel_sample_stop(s->attach.channel, attached_session_answer_until_ms(s), &inner) < 0)
		attached_session_no_answer(s, "the timers could not be stopped in order", &inner);
	cpu_session_own(s)->sampling = profiler_channel_sampling(s->attach.channel);
	take_last_samples(s);
	return 0;
}

/* the end ------------------------------------------------------------------------------------------------------------- */

/* The agent heard of the pod when its container ran already. */
static void note_missed_start(struct limits *l, const struct start_capture *c)
{
	int64_t cpu_ns = c->group_begin.usage_ns > 0 ? c->group_begin.usage_ns : 0;
	limits_note(l, "start", -1, c->missed_ns / 1000000,
		    "The first %.2f s of the container, with %.2f s of CPU time, were not sampled: the agent heard of the pod only then.",
		    (double)c->missed_ns / 1e9, (double)cpu_ns / 1e9);
}

/* What the report therefore lacks. */
static void note_limits(struct attached_session *s)
{
	const struct cpu_capture *c = &cpu_session_own(s)->capture;
	const struct channel_sampling *x = &cpu_session_own(s)->sampling;
	struct limits *l = &s->facts.limits;
	if (s->q->start && s->q->start->missed_ns)
		note_missed_start(l, s->q->start);
	if (cpu_capture_too_few(c))
		limits_note(l, "samples", cpu_capture_due(c), (int64_t)c->sample_count,
			    "%zu %s came where %lld were due by the CPU time that the process used: shares say little.", c->sample_count,
			    size_text_plural((double)c->sample_count, "sample", "samples"), (long long)cpu_capture_due(c));
	if (cpu_session_own(s)->left_group)
		limits_note(l, "group", -1, -1,
			    "The process was moved to another control group during the session: what it did afterwards is not in this report.");
	if (x->flags & CHANNEL_SAMPLING_THREADS_UNKNOWN)
		limits_note(l, "threads", -1, -1, "The process has more threads than the library can look at: what some of them do is not in this report.");
	if (x->untimed || x->untimed_cpu_ns > x->cpu_ns / NOTABLE_PART)
		limits_note(l, "timers", -1, x->untimed,
			    "%u threads at once ran without a timer: %.1f of %.1f seconds of CPU time were not sampled and are not in this report.",
			    x->untimed, (double)x->untimed_cpu_ns / 1e9, (double)x->cpu_ns / 1e9);
}

static void cpu_session_take(struct attached_session *s)
{
	struct cpu_own *o = cpu_session_own(s);
	if (o->perf) {
		perf_pump_stop(o->pump);
		s->helper_cpu_ns += perf_pump_cpu_ns(o->pump);
		limits_note_stall(&s->facts.limits, perf_pump_stalled_ns(o->pump));
		o->capture.lost_samples = (int64_t)perf_sampler_stats(o->perf)->lost;
		o->capture.dropped += (int64_t)(perf_sampler_stats(o->perf)->malformed + perf_pump_dropped(o->pump));
	}
	start_waits_take(&o->waits);
	perf_pump_free(o->pump);
	perf_sampler_close(o->perf);
	o->pump = NULL;
	cpu_collect_free(o->collect);
	o->perf = NULL;
	o->collect = NULL;
	cpu_account_report(&o->account, &o->capture);
	if (o->capture.process_cpu_ns < 0 && o->sampling.cpu_ns)
		o->capture.process_cpu_ns = (int64_t)o->sampling.cpu_ns;
	o->capture.frequency_hertz = s->q->start ? s->q->start->frequency_hertz : s->q->spec->frequency_hertz;
	note_limits(s);
	outside_names_note_compiled(s->unattached.reason, &o->capture, &s->facts);
	s->samples = (int64_t)o->capture.sample_count;
	s->facts.cost.dropped_samples = o->capture.lost_samples + o->capture.dropped;
	s->facts.held_unmeasured = o->capture.method && strcmp(o->capture.method, "signal-timer") == 0;
}

/* A process that used no CPU in all the time is reported as idle, whether chance gave it a sample or not. */
static bool cpu_session_any(const struct attached_session *s)
{
	const struct cpu_capture *c = &cpu_session_own(s)->capture;
	int64_t duration_ns = s->ending == ENDED_IN_TIME ? s->ended_ns - s->started_ns : 0;
	return c->sample_count > 0 || cpu_report_idle(c->process_cpu_ns, duration_ns, cpu_analysis_allowed(c));
}

static int cpu_session_report(struct attached_session *s, struct report_result *out, struct err *e)
{
	struct cpu_own *o = cpu_session_own(s);
	session_facts_copy(&o->capture.facts, &s->facts);
	start_waits_put(&o->waits, s->started_ns, &o->capture.start);
	return cpu_report_write(&o->capture, s->q->spec, s->q->context, s->q->out_dirfd, out, e);
}

static void cpu_session_fini(struct attached_session *s)
{
	start_waits_fini(&cpu_session_own(s)->waits);
	cpu_capture_fini(&cpu_session_own(s)->capture);
}

const struct session_profiler cpu_session = {
	.name = "CPUHotpaths",
	.without = TARGET_WITHOUT_RUNTIME,
	.nothing = {REASON_NoSamples, "no sample was taken: the process used too little CPU during the session"},
	.own_size = sizeof(struct cpu_own),
	.prepare = cpu_session_prepare,
	.start = cpu_session_start,
	.serve = cpu_session_serve,
	.readable = drain_perf_pump,
	.tick = cpu_session_tick,
	.stop = cpu_session_stop,
	.take = cpu_session_take,
	.any = cpu_session_any,
	.report = cpu_session_report,
	.fini = cpu_session_fini,
};
