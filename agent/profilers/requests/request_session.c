#include "agent/profilers/requests/request_session.h"

#include "agent/profilers/requests/request_channel.h"
#include "agent/profilers/requests/request_cpu.h"
#include "agent/profilers/requests/request_live.h"
#include "agent/profilers/requests/request_report.h"
#include "agent/stacks/cpu_account.h"
#include "agent/waits/wait_follow.h"
#include "agent/waits/wait_limits.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/size_text.h"
#include "common/base/step.h"

#define START_DEADLINE_MS 10000
#define NOTABLE_PART 100 /* of the requests */
#define LAST_TURNS 64 /* of input: more than a socket holds */

struct request_own {
	struct request_capture capture;
	struct request_channel channel;
	struct cpu_account account;
	struct request_cpu cpu;
	struct wait_follow waits;
	struct site_stacks *awaits;
	struct err no_waits; /* why waits are not followed; zeroed: they are */
	bool has_channel;
	bool cut; /* the capture ends before the session */
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
	request_cpu_open(&o->cpu, s, &o->capture);
	o->awaits = site_stacks_new(&o->capture.awaits, s->proc_fd);
	site_stacks_tell_lines(o->awaits, attached_session_ask_il, s);
	o->waits.single_waits = true;
	if (wait_follow_prepare(&o->waits, s, &o->no_waits) == 0) {
		o->waits.capture.log->keep_all = true;
		s->own_fd = o->waits.events_fd;
	}
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
	if (!o->no_waits.kind)
		wait_follow_start(&o->waits, s->started_ns);
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

static void request_session_readable(struct attached_session *s)
{
	struct request_own *o = request_session_own(s);
	wait_follow_readable(&o->waits);
	request_cpu_take(&o->cpu, s);
}

static void name_awaits(struct attached_session *s)
{
	struct request_own *o = request_session_own(s);
	if (attached_session_may_ask(s))
		request_awaits_name(&o->capture.log->awaits, o->awaits, attached_session_resolve, s);
}

static void request_session_tick(struct attached_session *s, bool last)
{
	struct request_own *o = request_session_own(s);
	request_cpu_tick(&o->cpu, s, &o->capture, last);
	name_awaits(s);
	if (!o->no_waits.kind)
		wait_follow_tick(&o->waits, last);
	cpu_account_update(&request_session_own(s)->account);
}

static void request_session_live(struct attached_session *s, struct buf *out)
{
	const struct request_own *o = request_session_own(s);
	request_live_text(o->capture.log, (uint64_t)o->capture.started_ns, out);
}

/* What was told is of the time until then: nothing may be said of the rest. */
static void cut_capture(struct attached_session *s)
{
	struct request_own *o = request_session_own(s);
	uint64_t told_ns = o->capture.log->told_to_ns;
	int64_t until_ns = told_ns > (uint64_t)o->capture.ended_ns ? o->capture.ended_ns : (int64_t)told_ns;
	if (until_ns < o->capture.started_ns)
		until_ns = o->capture.started_ns;
	limits_note(&s->facts.limits, "lastRequests", -1, -1,
		    "The library did not answer at the end of the session: requests that ended in its last %.1f s are in no figure.",
		    (double)(o->capture.ended_ns - until_ns) / 1e9);
	o->capture.ended_ns = until_ns;
	o->cut = true;
}

static int request_session_stop(struct attached_session *s, struct err *e)
{
	struct request_own *o = request_session_own(s);
	struct err inner = ERR_INIT;
	bool unanswered = false;
	(void)e;
	STEP("stop-requests");
	o->capture.ended_ns = clock_mono_ns();
	if (attached_session_may_ask(s) && request_channel_stop(&o->channel, attached_session_answer_until_ms(s), &inner) < 0) {
		attached_session_no_answer(s, "the watch of requests could not be stopped in order", &inner);
		unanswered = !s->broken && !s->stopped;
	}
	request_cpu_stop(&o->cpu);
	if (!o->no_waits.kind)
		wait_follow_stop(&o->waits);
	/* Also of a library that has ended meanwhile, or that cannot run now. */
	for (int turn = 0; turn < LAST_TURNS && !s->broken; turn++)
		if (request_session_serve(s, &inner) < 0)
			break;
	name_awaits(s);
	if (unanswered)
		cut_capture(s);
	return 0;
}

/* What tells of the threads' work, and what of it there is none of. */
static void take_work(struct attached_session *s)
{
	struct request_own *o = request_session_own(s);
	struct limits *l = &s->facts.limits;
	request_cpu_close(&o->cpu, s, &o->capture.cpu);
	if (!o->capture.has_cpu)
		limits_note(l, "cpuSamples", -1, -1,
			    "CPU time could not be sampled: what code requests run is not told, and how long only as far as waits tell. %s",
			    o->cpu.why.message);
	if (o->no_waits.kind) {
		limits_note(l, "waits", -1, -1, "What threads wait for could not be followed: locks, I/O, tasks and waiting for a CPU are not told apart. %s",
			    o->no_waits.message);
		return;
	}
	wait_follow_take(&o->waits);
	wait_limits_note(&o->waits.capture, l);
	o->capture.waits = &o->waits.capture;
}

static void request_session_take(struct attached_session *s)
{
	struct request_own *o = request_session_own(s);
	const struct channel_requests_state *x = &o->channel.state;
	o->capture.state = *x;
	cpu_account_report(&o->account, &o->capture.stacks);
	o->capture.process_cpu_ns = o->cut ? -1 : o->capture.stacks.process_cpu_ns;
	take_work(s);
	if (x->untracked > x->started / NOTABLE_PART)
		limits_note(&s->facts.limits, "inFlight", -1, (int64_t)x->untracked,
			    "%llu %s not be followed: too many were in flight, or they had no activity. They are in no latency.",
			    (unsigned long long)x->untracked, size_text_plural((double)x->untracked, "request could", "requests could"));
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
	session_facts_copy(&o->capture.cpu.facts, &s->facts);
	return request_report_write(&o->capture, s->q->spec, s->q->context, s->q->out_dirfd, out, e);
}

static void request_session_fini(struct attached_session *s)
{
	request_capture_fini(&request_session_own(s)->capture);
	wait_follow_fini(&request_session_own(s)->waits);
	site_stacks_free(request_session_own(s)->awaits);
}

const struct session_profiler request_session = {
	.name = "SlowRequests",
	.nothing = {REASON_NoSamples, "the process could not run during the session"},
	.own_size = sizeof(struct request_own),
	.prepare = request_session_prepare,
	.start = request_session_start,
	.serve = request_session_serve,
	.readable = request_session_readable,
	.tick = request_session_tick,
	.live = request_session_live,
	.stop = request_session_stop,
	.take = request_session_take,
	.any = request_session_any,
	.report = request_session_report,
	.fini = request_session_fini,
};
