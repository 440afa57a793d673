#include "agent/profilers/exceptions/exception_session.h"

#include "agent/profilers/exceptions/exception_collect.h"
#include "agent/profilers/exceptions/exception_report.h"
#include "agent/profilers/exceptions/exception_samples.h"
#include "agent/profilers/exceptions/exception_channel.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#define START_DEADLINE_MS 10000

struct exception_own {
	struct exception_capture capture;
	struct exception_channel channel;
	struct exception_collect *collect;
	bool has_channel;
	struct exception_samples samples;
};

static struct exception_own *exception_session_own(const struct attached_session *s)
{
	return s->own;
}

static int exception_session_start(struct attached_session *s, struct err *e)
{
	struct exception_own *o = exception_session_own(s);
	exception_channel_init(&o->channel, s->attach.channel);
	o->has_channel = true;
	uint32_t wanted = CHANNEL_EXCEPTIONS_CATCHERS | (s->q->spec->reveal ? CHANNEL_EXCEPTIONS_REVEAL : 0u);
	if (exception_channel_start(&o->channel, wanted, clock_mono_ms() + START_DEADLINE_MS, e) < 0)
		return -1;
	s->started_ns = clock_mono_ns(); /* rates are of the time since */
	o->collect = exception_collect_new(
		&(struct exception_collect_options){.capture = &o->capture, .proc_fd = s->proc_fd, .started_ns = s->started_ns,
						    .il = attached_session_ask_il, .il_ctx = s, .threw = exception_samples_threw, .threw_ctx = &o->samples});
	exception_samples_open(&o->samples, s);
	return 0;
}

static void take_throws(struct attached_session *s)
{
	struct exception_own *o = exception_session_own(s);
	if (!o->collect)
		return;
	if (exception_collect_take(o->collect, &o->channel))
		exception_collect_flush(o->collect, attached_session_resolve, s);
	attached_session_count(s, exception_collect_counted(o->collect));
}

static int exception_session_serve(struct attached_session *s, struct err *e)
{
	int n = profiler_channel_poll(s->attach.channel, NULL, NULL, clock_mono_ms(), e);
	take_throws(s);
	return n;
}

/* While the process is stopped the sites wait for their names, until the last tick. */
static void exception_session_tick(struct attached_session *s, bool last)
{
	struct exception_own *o = exception_session_own(s);
	exception_samples_tick(&o->samples, s, last);
	if (!o->collect)
		return;
	take_throws(s);
	if (last || attached_session_may_ask(s))
		exception_collect_flush(o->collect, attached_session_resolve, s);
	if (last)
		exception_collect_finish(o->collect, &o->channel);
}

static int exception_session_stop(struct attached_session *s, struct err *e)
{
	struct err inner = ERR_INIT;
	(void)e;
	exception_samples_stop(&exception_session_own(s)->samples);
	if (attached_session_may_ask(s) && exception_channel_stop(&exception_session_own(s)->channel, attached_session_answer_until_ms(s), &inner) < 0)
		attached_session_no_answer(s, "the watch of exceptions could not be stopped in order", &inner);
	attached_session_take_rest(s, &inner);
	take_throws(s);
	return 0;
}

static void exception_session_take(struct attached_session *s)
{
	struct exception_own *o = exception_session_own(s);
	exception_samples_count(&o->samples, &o->capture);
	exception_samples_close(&o->samples, s);
	if (o->capture.incomplete)
		limits_note_callers(&s->facts.limits, (int64_t)o->capture.counted, (int64_t)o->capture.incomplete);
	s->facts.cost.dropped_samples = (int64_t)o->capture.dropped;
	s->facts.cost.added_cpu_ms = (int64_t)(s->stats.paused_ns / 1000000); /* in callbacks, on the application's threads */
}

/* That nothing was thrown is worth a report too, unless the process could not run. */
static bool exception_session_any(const struct attached_session *s)
{
	return exception_session_own(s)->capture.site_count > 0 || (exception_session_own(s)->has_channel && !s->facts.was_stopped);
}

static int exception_session_report(struct attached_session *s, struct report_result *out, struct err *e)
{
	struct exception_own *o = exception_session_own(s);
	session_facts_copy(&o->capture.stacks.facts, &s->facts);
	return exception_report_write(&o->capture, s->q->spec, s->q->context, s->q->out_dirfd, out, e);
}

static void exception_session_fini(struct attached_session *s)
{
	struct exception_own *o = exception_session_own(s);
	exception_samples_close(&o->samples, NULL);
	exception_collect_free(o->collect);
	if (o->has_channel)
		exception_channel_fini(&o->channel);
	exception_capture_fini(&o->capture);
}

const struct session_profiler exception_session = {
	.name = "Exceptions",
	.nothing = {REASON_NoSamples, "the process could not run during the session"},
	.own_size = sizeof(struct exception_own),
	.start = exception_session_start,
	.serve = exception_session_serve,
	.tick = exception_session_tick,
	.stop = exception_session_stop,
	.take = exception_session_take,
	.any = exception_session_any,
	.report = exception_session_report,
	.fini = exception_session_fini,
};
