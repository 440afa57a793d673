#include "agent/profilers/allocs/alloc_session.h"

#include "agent/profilers/allocs/alloc_collect.h"
#include "agent/profilers/allocs/alloc_report.h"
#include "agent/profilers/allocs/allocs_channel.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#define START_DEADLINE_MS 10000

struct alloc_own {
	struct alloc_capture capture;
	struct allocs_channel channel;
	struct alloc_collect *collect;
	bool has_channel;
};

static struct alloc_own *alloc_session_own(const struct attached_session *s)
{
	return s->own;
}

static int alloc_session_start(struct attached_session *s, struct err *e)
{
	struct alloc_own *o = alloc_session_own(s);
	allocs_channel_init(&o->channel, s->attach.channel);
	o->has_channel = true;
	o->capture.gc = s->attach.gc;
	gc_settings_read(&o->capture.gc, s->proc_fd, s->q->target->entrypoint);
	if (allocs_channel_start(&o->channel, 0, clock_mono_ms() + START_DEADLINE_MS, e) < 0)
		return -1;
	s->started_ns = clock_mono_ns(); /* rates are of the time since */
	o->collect = alloc_collect_new(
		&(struct alloc_collect_options){.capture = &o->capture, .proc_fd = s->proc_fd, .started_ns = s->started_ns,
						.il = attached_session_ask_il, .il_ctx = s});
	return 0;
}

static void take_frames(struct attached_session *s)
{
	struct alloc_own *o = alloc_session_own(s);
	if (!o->collect)
		return;
	if (alloc_collect_take(o->collect, &o->channel))
		alloc_collect_flush(o->collect, attached_session_resolve, s);
	attached_session_count(s, alloc_collect_samples(o->collect));
}

static int alloc_session_serve(struct attached_session *s, struct err *e)
{
	int n = profiler_channel_poll(s->attach.channel, NULL, NULL, clock_mono_ms(), e);
	take_frames(s);
	return n;
}

static void alloc_session_fetch_gcs(struct attached_session *s)
{
	const struct channel_collection *list;
	size_t count;
	if (attached_session_collections(s, &list, &count) == 0)
		capture_set_collections(&alloc_session_own(s)->capture.stacks, list, count, s->started_ns);
}

/* While the process is stopped the sites wait for their names, until the last tick. */
static void alloc_session_tick(struct attached_session *s, bool last)
{
	struct alloc_own *o = alloc_session_own(s);
	if (!o->collect)
		return;
	take_frames(s);
	if (last || attached_session_may_ask(s))
		alloc_collect_flush(o->collect, attached_session_resolve, s);
	alloc_session_fetch_gcs(s);
	if (last)
		alloc_collect_finish(o->collect, &o->channel);
}

static int alloc_session_stop(struct attached_session *s, struct err *e)
{
	struct err inner = ERR_INIT;
	(void)e;
	if (attached_session_may_ask(s) && allocs_channel_stop(&alloc_session_own(s)->channel, attached_session_answer_until_ms(s), &inner) < 0)
		attached_session_no_answer(s, "the sampling of allocations could not be stopped in order", &inner);
	attached_session_take_rest(s, &inner);
	take_frames(s);
	return 0;
}

static void alloc_session_take(struct attached_session *s)
{
	struct alloc_own *o = alloc_session_own(s);
	if (o->capture.incomplete)
		limits_note_callers(&s->facts.limits, (int64_t)o->capture.samples, (int64_t)o->capture.incomplete);
	s->facts.cost.dropped_samples = (int64_t)o->capture.dropped;
	s->facts.cost.added_cpu_ms = (int64_t)(s->stats.paused_ns / 1000000); /* in callbacks, on the application's threads */
}

/* That nothing was allocated is worth a report too, unless the process could not run. */
static bool alloc_session_any(const struct attached_session *s)
{
	return alloc_session_own(s)->capture.site_count > 0 || (alloc_session_own(s)->has_channel && !s->facts.was_stopped);
}

static int alloc_session_report(struct attached_session *s, struct report_result *out, struct err *e)
{
	struct alloc_own *o = alloc_session_own(s);
	session_facts_copy(&o->capture.stacks.facts, &s->facts);
	return alloc_report_write(&o->capture, s->q->spec, s->q->context, s->q->out_dirfd, out, e);
}

static void alloc_session_fini(struct attached_session *s)
{
	struct alloc_own *o = alloc_session_own(s);
	alloc_collect_free(o->collect);
	if (o->has_channel)
		allocs_channel_fini(&o->channel);
	alloc_capture_fini(&o->capture);
}

const struct session_profiler alloc_session = {
	.name = "Allocations",
	.nothing = {REASON_NoSamples, "the process allocated nothing during the session"},
	.own_size = sizeof(struct alloc_own),
	.start = alloc_session_start,
	.serve = alloc_session_serve,
	.tick = alloc_session_tick,
	.stop = alloc_session_stop,
	.take = alloc_session_take,
	.any = alloc_session_any,
	.report = alloc_session_report,
	.fini = alloc_session_fini,
};
