#include "agent/session/attached_collect.h"

#include "agent/session/attached_session_private.h"
#include "agent/target/runtime_build.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/step.h"

#include <poll.h>
#include <string.h>

#define TICK_MS 1000
#define LAST_TURNS 8 /* of input: more than a socket holds */
#define EAGER_MS 10
#define ANSWER_MS 5000
#define LATE_ANSWER_MS 1000 /* after the session's deadline */

/* The channel has closed, or what came on it is not its protocol. */
static void channel_over(struct attached_session *s, const struct err *why)
{
	if (attached_session_paused(s))
		s->ending = ENDED_PAUSE;
	else if (attached_session_lapsed(s))
		s->ending = ENDED_LAPSED;
	else if (s->ending == ENDED_NOT || s->ending == ENDED_IN_TIME || s->ending == ENDED_DEADLINE)
		s->ending = attached_session_process_exited(s, EXIT_GRACE_MS) ? ENDED_EXITED : ENDED_CHANNEL_LOST;
	s->broken = true;
	LOG_DEBUG("session", "the channel closed", LOG_S("why", why->message));
}

void attached_collect_note_engines(struct attached_session *s)
{
	const struct target *t = s->q->target;
	struct engine_platform platform;
	char build[RUNTIME_BUILD_BYTES];
	bool built = !t->runtime_version && s->proc_fd >= 0 && runtime_build_of(s->proc_fd, build);
	const char *rid = t->rid || s->proc_fd < 0 ? t->rid : runtime_build_of_musl(s->proc_fd) ? "linux-musl" : NULL;
	engine_platform_of(built ? build : t->runtime_version, rid, t->arch, &platform);
	engine_support_of(&platform, &s->facts.engines);
}

void attached_collect_look_whether_stopped(struct attached_session *s)
{
	s->stopped = target_stopped(s->q->target);
	s->facts.was_stopped |= s->stopped;
}

bool attached_session_may_ask(const struct attached_session *s)
{
	return (s->attached || s->profiler->visits) && !s->broken && !s->stopped && s->ending != ENDED_EXITED;
}

int64_t attached_session_answer_until_ms(const struct attached_session *s)
{
	int64_t now_ms = clock_mono_ms(), until_ms = now_ms + ANSWER_MS;
	int64_t last_ms = s->q->deadline_ms > now_ms ? s->q->deadline_ms : now_ms;
	return s->q->deadline_ms && last_ms + LATE_ANSWER_MS < until_ms ? last_ms + LATE_ANSWER_MS : until_ms;
}

void attached_session_no_answer(struct attached_session *s, const char *what, const struct err *e)
{
	LOG_WARN("session", what, LOG_S("why", e->message), LOG_I("pid", s->q->target->pid));
	if (e->kind == ERR_GONE || e->kind == ERR_PROTOCOL || attached_session_lapsed(s))
		channel_over(s, e);
	else
		attached_collect_look_whether_stopped(s);
}

int attached_session_take_rest(struct attached_session *s, struct err *e)
{
	for (int turn = 0; turn < LAST_TURNS && !s->broken; turn++)
		if (s->profiler->serve(s, e) < 0)
			return -1;
	return 0;
}

void attached_session_count(struct attached_session *s, uint64_t samples)
{
	s->samples = (int64_t)samples;
	if (samples && !s->first_sample_ns)
		s->first_sample_ns = clock_mono_ns();
}

int attached_session_resolve(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out)
{
	struct attached_session *s = ctx;
	struct err e = ERR_INIT;
	if (s->unattached.reason && s->outside.resolve)
		return s->outside.resolve(s->outside.ctx, ips, count, out);
	if (!attached_session_may_ask(s))
		return -1;
	STEP("name");
	if (profiler_channel_resolve(s->attach.channel, ips, count, out, attached_session_answer_until_ms(s), &e) == 0)
		return 0;
	attached_session_no_answer(s, "names could not be asked for", &e);
	return -1;
}

int attached_session_ask_code(void *ctx, const uint64_t *ips, size_t count, struct channel_code_body *out)
{
	struct attached_session *s = ctx;
	struct err e = ERR_INIT;
	if (s->unattached.reason && s->outside.code)
		return s->outside.code(s->outside.ctx, ips, count, out);
	if (s->unattached.reason) { /* nobody knows: frame pointers lead on */
		memset(out, 0, count * sizeof *out);
		return 0;
	}
	if (!attached_session_may_ask(s))
		return -1;
	STEP("ask-code");
	if (s->code.channel != s->attach.channel)
		code_client_init(&s->code, s->attach.channel);
	if (code_client_ask(&s->code, ips, count, out, attached_session_answer_until_ms(s), &e) == 0)
		return 0;
	attached_session_no_answer(s, "the places of code could not be asked for", &e);
	return -1;
}

int attached_session_ask_il(void *ctx, const uint64_t *ips, size_t count, uint32_t *out)
{
	struct attached_session *s = ctx;
	struct err e = ERR_INIT;
	if (!attached_session_may_ask(s))
		return -1;
	if (profiler_channel_il_offsets(s->attach.channel, ips, count, out, attached_session_answer_until_ms(s), &e) == 0)
		return 0;
	attached_session_no_answer(s, "the IL of code could not be asked for", &e);
	return -1;
}

int attached_session_collections(struct attached_session *s, const struct channel_collection **out, size_t *count)
{
	struct err e = ERR_INIT;
	if (!attached_session_may_ask(s))
		return -1;
	if (profiler_channel_collections(s->attach.channel, out, count, attached_session_answer_until_ms(s), &e) == 0)
		return 0;
	attached_session_no_answer(s, "collections could not be asked for", &e);
	return -1;
}

void attached_session_done(struct attached_session *s)
{
	s->done = true;
}

static void collect_tick(struct attached_session *s, bool last)
{
	STEP("tick");
	attached_collect_look_whether_stopped(s);
	if (!s->attach.channel && s->ending == ENDED_NOT && attached_session_process_exited(s, 0)) /* no channel that would close */
		s->ending = ENDED_EXITED;
	if (s->profiler->tick)
		s->profiler->tick(s, last);
	attached_session_progress(s, JOB_PROFILING);
}

/* A profiler without frames of its own still has to see the end of the channel. */
static int serve_profiler(struct attached_session *s, struct err *e)
{
	if (s->profiler->serve)
		return s->profiler->serve(s, e);
	return profiler_channel_poll(s->attach.channel, NULL, NULL, clock_mono_ms(), e);
}

static void serve_session_channel(struct attached_session *s)
{
	struct err e = ERR_INIT;
	if (s->broken)
		return;
	bool over = serve_profiler(s, &e) < 0;
	if (over || attached_session_paused(s))
		channel_over(s, &e);
}

static void serve_own(struct attached_session *s)
{
	if (s->profiler->readable)
		s->profiler->readable(s);
}

/* Waits for something to do, at most until `until_ms`. */
static void wait_and_serve(struct attached_session *s, int64_t until_ms)
{
	enum { CHANNEL, CANCEL, PROCESS, OWN, COUNT };
	struct pollfd p[COUNT] = {
		[CHANNEL] = {.fd = s->attach.channel ? profiler_channel_fd(s->attach.channel) : -1, .events = POLLIN},
		[CANCEL] = {.fd = s->q->cancel_fd, .events = POLLIN},
		[PROCESS] = {.fd = s->pid_fd, .events = POLLIN},
		[OWN] = {.fd = s->own_fd, .events = POLLIN},
	};
	int64_t wait_ms = until_ms - clock_mono_ms();
	if (poll(p, COUNT, wait_ms > 0 ? (int)wait_ms : 0) <= 0)
		return;
	if (p[OWN].revents)
		serve_own(s);
	if (p[PROCESS].revents)
		s->ending = ENDED_EXITED;
	else if (p[CANCEL].revents)
		s->ending = session_ending_early();
	if (p[CHANNEL].revents)
		serve_session_channel(s);
}

static void collect_turn(struct attached_session *s, int64_t end_ms, int64_t *next_tick_ms)
{
	int64_t now_ms = clock_mono_ms();
	bool eager = s->eager;
	int64_t until_ms = eager && now_ms + EAGER_MS < *next_tick_ms ? now_ms + EAGER_MS : *next_tick_ms;
	wait_and_serve(s, until_ms < end_ms ? until_ms : end_ms);
	if (eager)
		serve_own(s);
	if (eager && !s->eager)
		attached_session_progress(s, JOB_PROFILING);
	if (clock_mono_ms() >= *next_tick_ms) {
		collect_tick(s, false);
		*next_tick_ms += TICK_MS;
	}
}

void attached_collect_run(struct attached_session *s)
{
	int64_t end_ms = attached_session_end_ns(s) / 1000000;
	bool cut = s->q->deadline_ms && s->q->deadline_ms < end_ms;
	if (cut)
		end_ms = s->q->deadline_ms;
	attached_session_progress(s, JOB_PROFILING);
	int64_t next_tick_ms = clock_mono_ms() + TICK_MS;
	while (s->ending == ENDED_NOT && !s->done && clock_mono_ms() < end_ms)
		collect_turn(s, end_ms, &next_tick_ms);
	if (s->ending == ENDED_NOT)
		s->ending = cut && !s->done ? ENDED_DEADLINE : ENDED_IN_TIME;
}

int attached_collect_stop(struct attached_session *s, struct err *e)
{
	s->ended_ns = attached_session_over_ns(s);
	attached_collect_look_whether_stopped(s);
	if (s->profiler->stop && s->profiler->stop(s, e) < 0)
		return -1;
	collect_tick(s, true);
	s->exited = attached_session_process_exited(s, 0);
	return 0;
}
