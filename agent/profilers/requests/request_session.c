#include "agent/profilers/requests/request_session.h"

#include "agent/profilers/requests/request_channel.h"
#include "agent/profilers/requests/request_report.h"
#include "agent/stacks/cpu_account.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/step.h"

#define START_DEADLINE_MS 10000
#define NOTABLE_PART 100 /* of the requests */
#define LAST_TURNS 64 /* of input: more than a socket holds */

struct request_own {
	struct request_capture capture;
	struct request_channel channel;
	struct cpu_account account;
	bool has_channel;
};

static struct request_own *request_session_own(const struct attached_session *s)
{
	return s->own;
}

static int request_session_prepare(struct attached_session *s, struct err *e)
{
	struct request_own *o = request_session_own(s);
	(void)e;
	o->capture.log = request_log_new();
	o->capture.process_cpu_ns = -1;
	cpu_account_init(&o->account, s->q->target);
	return 0;
}

static int request_session_start(struct attached_session *s, struct err *e)
{
	struct request_own *o = request_session_own(s);
	STEP("start-requests");
	request_channel_init(&o->channel, s->attach.channel, o->capture.log);
	o->has_channel = true;
	cpu_account_begin(&o->account);
	if (request_channel_start(&o->channel, clock_mono_ms() + START_DEADLINE_MS, e) < 0)
		return -1;
	s->started_ns = o->capture.started_ns = clock_mono_ns(); /* rates are of the time since */
	return 0;
}

static int request_session_serve(struct attached_session *s, struct err *e)
{
	struct request_own *o = request_session_own(s);
	int n = profiler_channel_poll(s->attach.channel, NULL, NULL, clock_mono_ms(), e);
	s->samples = (int64_t)o->capture.log->requests;
	if (s->samples && !s->first_sample_ns)
		s->first_sample_ns = clock_mono_ns();
	return n;
}

static void request_session_tick(struct attached_session *s, bool last)
{
	(void)last;
	cpu_account_update(&request_session_own(s)->account);
}

static int request_session_stop(struct attached_session *s, struct err *e)
{
	struct request_own *o = request_session_own(s);
	struct err inner = ERR_INIT;
	(void)e;
	STEP("stop-requests");
	o->capture.ended_ns = clock_mono_ns();
	if (attached_session_may_ask(s) && request_channel_stop(&o->channel, attached_session_answer_until_ms(s), &inner) < 0)
		attached_session_no_answer(s, "the watch of requests could not be stopped in order", &inner);
	/* Also of a library that has ended meanwhile, or that cannot run now. */
	for (int turn = 0; turn < LAST_TURNS && !s->broken; turn++)
		if (request_session_serve(s, &inner) < 0)
			break;
	return 0;
}

static void request_session_take(struct attached_session *s)
{
	struct request_own *o = request_session_own(s);
	const struct channel_requests_state *x = &o->channel.state;
	o->capture.state = *x;
	cpu_account_report(&o->account, &o->capture.stacks);
	o->capture.process_cpu_ns = o->capture.stacks.process_cpu_ns;
	if (x->untracked > x->started / NOTABLE_PART)
		limits_note(&s->facts.limits, "inFlight", -1, (int64_t)x->untracked,
			    "%llu requests could not be followed: too many were in flight, or they had no activity. They are in no latency.",
			    (unsigned long long)x->untracked);
	s->facts.cost.dropped_samples = (int64_t)x->dropped;
	s->facts.cost.added_cpu_ms = (int64_t)(s->stats.paused_ns / 1000000); /* in callbacks, on the application's threads */
}

/* That there was no request is worth a report too, unless the process could not run. */
static bool request_session_any(const struct attached_session *s)
{
	const struct request_own *o = request_session_own(s);
	return o->capture.log->requests > 0 || (o->has_channel && o->capture.ended_ns > 0 && !s->facts.was_stopped);
}

static int request_session_report(struct attached_session *s, struct report_result *out, struct err *e)
{
	struct request_own *o = request_session_own(s);
	session_facts_copy(&o->capture.stacks.facts, &s->facts);
	return request_report_write(&o->capture, s->q->spec, s->q->context, s->q->out_dirfd, out, e);
}

static void request_session_fini(struct attached_session *s)
{
	request_capture_fini(&request_session_own(s)->capture);
}

const struct session_profiler request_session = {
	.name = "SlowRequests",
	.nothing = {REASON_NoSamples, "the process could not run during the session"},
	.own_size = sizeof(struct request_own),
	.prepare = request_session_prepare,
	.start = request_session_start,
	.serve = request_session_serve,
	.tick = request_session_tick,
	.stop = request_session_stop,
	.take = request_session_take,
	.any = request_session_any,
	.report = request_session_report,
	.fini = request_session_fini,
};
