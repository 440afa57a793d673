#include "agent/cpu_session_private.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/step.h"

#include <poll.h>

#define TICK_MS 1000
#define LAST_TURNS 8           /* of input: more than a socket holds */
#define EAGER_MS 10            /* until the first sample is there */
#define ANSWER_MS 5000
#define LATE_ANSWER_MS 1000    /* after the session's deadline */

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

static void channel_over(struct cpu_session *s, const struct err *why)
{
	if (profiler_channel_pause(s->attach.channel, &s->pause))
		s->ending = ENDED_PAUSE;
	else if (s->ending == ENDED_NOT || s->ending == ENDED_IN_TIME || s->ending == ENDED_DEADLINE)
		s->ending = cpu_session_process_exited(s, CPU_EXIT_GRACE_MS) ? ENDED_EXITED : ENDED_CHANNEL_LOST;
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
	cpu_session_progress(s, JOB_PROFILING);
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

/* Takes what the library has said, also one that has ended meanwhile or that cannot run now. */
static void take_last_samples(struct cpu_session *s)
{
	struct err e = ERR_INIT;
	for (int turn = 0; turn < LAST_TURNS; turn++) {
		if (profiler_channel_poll(s->attach.channel, on_timer_sample, s->collect, clock_mono_ms(), &e) < 0) {
			if (!s->broken)
				channel_over(s, &e);
			return;
		}
	}
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

int cpu_sampling_run(struct cpu_session *s, struct err *e)
{
	(void)e;
	int64_t end_ms = s->started_ns / 1000000 + s->q->spec->duration_seconds * 1000;
	bool cut = s->q->deadline_ms && s->q->deadline_ms < end_ms;
	if (cut)
		end_ms = s->q->deadline_ms;
	cpu_session_progress(s, JOB_PROFILING);
	int64_t next_tick_ms = clock_mono_ms() + TICK_MS, now_ms;
	while (s->ending == ENDED_NOT && (now_ms = clock_mono_ms()) < end_ms) {
		bool eager = s->perf && !cpu_collect_first_sample_ns(s->collect);
		int64_t until_ms = eager && now_ms + EAGER_MS < next_tick_ms ? now_ms + EAGER_MS : next_tick_ms;
		wait_and_serve(s, until_ms < end_ms ? until_ms : end_ms);
		if (eager)
			drain(s);
		if (eager && cpu_collect_first_sample_ns(s->collect))
			cpu_session_progress(s, JOB_PROFILING);
		if (clock_mono_ms() >= next_tick_ms) {
			tick(s, false);
			next_tick_ms += TICK_MS;
		}
	}
	if (s->ending == ENDED_NOT)
		s->ending = cut ? ENDED_DEADLINE : ENDED_IN_TIME;
	return 0;
}

int cpu_sampling_stop(struct cpu_session *s, struct err *e)
{
	(void)e;
	s->ended_ns = clock_mono_ns();
	look_whether_stopped(s);
	struct err inner = ERR_INIT;
	if (s->perf) {
		perf_sampler_stop(s->perf);
	} else {
		if (may_ask(s) && profiler_channel_sample_stop(s->attach.channel, answer_until_ms(s), &inner) < 0)
			no_answer(s, "the timers could not be stopped in order", &inner);
		take_last_samples(s);
	}
	tick(s, true);
	cpu_collect_finish(s->collect);
	return 0;
}
