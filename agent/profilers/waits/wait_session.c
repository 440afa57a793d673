#include "agent/profilers/waits/wait_session.h"

#include "agent/profilers/waits/wait_report.h"
#include "agent/stacks/outside_names.h"
#include "agent/waits/wait_follow.h"
#include "agent/waits/wait_limits.h"
#include "common/api/reason.h"
#include "common/base/clock.h"

static struct wait_follow *wait_session_own(const struct attached_session *s)
{
	return s->own;
}

static void note_wait_samples(struct attached_session *s)
{
	struct wait_follow *o = wait_session_own(s);
	s->samples = (int64_t)cpu_collect_sample_count(o->collect);
	s->first_sample_ns = cpu_collect_first_sample_ns(o->collect);
}

static int wait_session_prepare(struct attached_session *s, struct err *e)
{
	struct wait_follow *o = wait_session_own(s);
	if (wait_follow_prepare(o, s, e) < 0)
		return -1;
	if (o->locks.unread && s->unattached.reason != REASON_NativeAOT) /* its locks are methods: the stacks tell */
		engine_doubt(&s->facts.engines, ENGINE_MONITORS, o->locks.unread);
	s->own_fd = o->events_fd;
	s->started_ns = o->started_ns || !s->unattached.reason ? o->started_ns : clock_mono_ns(); /* no attach is waited for */
	return 0;
}

static int wait_session_start(struct attached_session *s, struct err *e)
{
	(void)e;
	wait_follow_start(wait_session_own(s), s->started_ns);
	return 0;
}

static void wait_session_readable(struct attached_session *s)
{
	wait_follow_readable(wait_session_own(s));
	note_wait_samples(s);
}

static void wait_session_tick(struct attached_session *s, bool last)
{
	wait_follow_tick(wait_session_own(s), last);
	note_wait_samples(s);
}

static int wait_session_stop(struct attached_session *s, struct err *e)
{
	(void)e;
	wait_follow_stop(wait_session_own(s));
	note_wait_samples(s);
	return 0;
}

static void wait_session_take(struct attached_session *s)
{
	struct wait_capture *c = &wait_session_own(s)->capture;
	wait_follow_take(wait_session_own(s));
	wait_limits_note(c, &s->facts.limits);
	outside_names_note_compiled(s->unattached.reason, &c->stacks, &s->facts);
	s->facts.cost.dropped_samples = (int64_t)(c->lost + c->dropped);
}

static bool wait_session_any(const struct attached_session *s)
{
	return wait_session_own(s)->capture.ended_ns > wait_session_own(s)->capture.started_ns;
}

static int wait_session_report(struct attached_session *s, struct report_result *out, struct err *e)
{
	struct wait_follow *o = wait_session_own(s);
	session_facts_copy(&o->capture.stacks.facts, &s->facts);
	return wait_report_write(&o->capture, s->q->spec, s->q->context, s->q->out_dirfd, out, e);
}

static void wait_session_fini(struct attached_session *s)
{
	wait_follow_fini(wait_session_own(s));
}

const struct session_profiler wait_session = {
	.name = "Waits",
	.without = TARGET_WITHOUT_RUNTIME,
	.nothing = {REASON_NoSamples, "the process's context switches were not followed"},
	.own_size = sizeof(struct wait_follow),
	.prepare = wait_session_prepare,
	.start = wait_session_start,
	.readable = wait_session_readable,
	.tick = wait_session_tick,
	.stop = wait_session_stop,
	.take = wait_session_take,
	.any = wait_session_any,
	.report = wait_session_report,
	.fini = wait_session_fini,
};
