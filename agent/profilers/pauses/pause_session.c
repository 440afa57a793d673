#include "agent/profilers/pauses/pause_session.h"

#include "agent/stacks/cpu_account.h"
#include "agent/profilers/pauses/pause_collect.h"
#include "agent/host/cgroup.h"
#include "agent/profilers/pauses/pause_report.h"
#include "agent/profilers/pauses/thread_name.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/log.h"

#include <stdio.h>
#include <unistd.h>


struct pause_own {
	struct pause_frames frames;
	struct pause_capture capture;
	struct pause_collect *collect;
	struct cpu_account account;
	bool brief; /* the last pause was */
};

static struct pause_own *pause_session_own(const struct attached_session *s)
{
	return s->own;
}

static void name_thread(void *ctx, uint32_t tid, char *out, size_t size)
{
	const struct attached_session *s = ctx;
	const struct target *t = s->q->target;
	thread_name_read(s->proc_fd, tid, t->pid == t->inner_pid, out, size);
}

static int pause_session_start(struct attached_session *s, struct err *e)
{
	struct pause_own *o = pause_session_own(s);
	o->capture.memory_bytes = o->capture.memory_limit_bytes = o->capture.process_bytes = -1;
	struct pause_collect_options options = {
		.capture = &o->capture,
		.started_ns = s->started_ns,
		.resolve = attached_session_resolve,
		.thread_name = name_thread,
		.ctx = s,
	};
	o->collect = pause_collect_new(&options);
	cpu_account_init(&o->account, s->q->target);
	cpu_account_begin(&o->account);
	o->capture.gc = s->attach.gc;
	gc_settings_read(&o->capture.gc, s->proc_fd, s->q->target->entrypoint);
	profiler_channel_on_frames(s->attach.channel, pause_frames_add, &o->frames);
	if (pause_frames_ask(&o->frames, s->attach.channel, CHANNEL_STOPS_BEGIN, attached_session_answer_until_ms(s), e) < 0)
		return -1;
	LOG_DEBUG("session", "the runtime tells of its pauses", LOG_I("events", o->frames.state.flags & CHANNEL_STOPS_EVENTS));
	return 0;
}

static int pause_session_serve(struct attached_session *s, struct err *e)
{
	return profiler_channel_poll(s->attach.channel, NULL, NULL, clock_mono_ms(), e);
}

static void note_pause_count(struct attached_session *s)
{
	s->samples = (int64_t)pause_session_own(s)->capture.pause_count;
}

static void say_brief(struct pause_own *o)
{
	const struct pause_capture *c = &o->capture;
	bool brief = c->pause_count ? c->pauses[c->pause_count - 1].brief : false;
	if (brief != o->brief)
		LOG_DEBUG("session", brief ? "collections come too often to look at each" : "collections are looked at again");
	o->brief = brief;
}

static int64_t resident_bytes(int proc_fd)
{
	char text[128];
	long long pages;
	if (proc_fd < 0 || fsio_read_small(proc_fd, "statm", text, sizeof text) <= 0 || sscanf(text, "%*d %lld", &pages) != 1)
		return -1;
	return pages > 0 ? pages * sysconf(_SC_PAGESIZE) : -1;
}

/* The last figures that can be read count: a process that ended has none. */
static void update_memory(struct attached_session *s)
{
	struct pause_capture *c = &pause_session_own(s)->capture;
	int64_t resident = resident_bytes(s->proc_fd);
	c->process_bytes = resident > 0 ? resident : c->process_bytes;
	struct cgroup_owner group = target_cgroup(s->q->target);
	struct cgroup_memory now;
	cgroup_read_memory("/proc", &group, &now);
	if (now.usage_bytes < 0 || (c->memory_limit_bytes > 0 && now.limit_bytes <= 0)) /* a deleted pod's group has no limit any more */
		return;
	c->memory_bytes = now.usage_bytes;
	c->memory_limit_bytes = now.limit_bytes;
}

static void pause_session_tick(struct attached_session *s, bool last)
{
	struct pause_own *o = pause_session_own(s);
	pause_collect_take(o->collect, &o->frames);
	say_brief(o);
	if (last)
		pause_collect_finish(o->collect, &o->frames);
	cpu_account_update(&o->account);
	update_memory(s);
	note_pause_count(s);
}

static int pause_session_stop(struct attached_session *s, struct err *e)
{
	struct err inner = ERR_INIT, rest = ERR_INIT;
	(void)e;
	if (attached_session_may_ask(s) && pause_frames_ask(&pause_session_own(s)->frames, s->attach.channel, CHANNEL_STOPS_END,
							    attached_session_answer_until_ms(s), &inner) < 0)
		attached_session_no_answer(s, "the last pauses could not be asked for", &inner);
	if (attached_session_take_rest(s, &rest) < 0)
		attached_session_no_answer(s, "the last pauses could not be read", &rest);
	return 0;
}

static void pause_session_take(struct attached_session *s)
{
	struct pause_own *o = pause_session_own(s);
	struct cpu_capture c = {0};
	cpu_account_report(&o->account, &c);
	o->capture.cpu_limit_millicores = c.cpu_limit_millicores;
	o->capture.node_cpus = c.node_cpus;
	o->capture.process_cpu_ns = c.process_cpu_ns;
	o->capture.throttled_periods = c.throttled_periods;
	o->capture.periods = c.total_periods;
	o->capture.throttled_ns = c.throttled_ns;
	if (o->capture.incomplete_stacks)
		limits_note_callers(&s->facts.limits, (int64_t)o->capture.taken_stacks, (int64_t)o->capture.incomplete_stacks);
	s->facts.cost.dropped_samples = (int64_t)o->capture.dropped;
}

/* That there was no pause is worth a report. */
static bool pause_session_any(const struct attached_session *s)
{
	return pause_session_own(s)->frames.answers > 0;
}

static int pause_session_report(struct attached_session *s, struct report_result *out, struct err *e)
{
	struct pause_own *o = pause_session_own(s);
	session_facts_copy(&o->capture.facts, &s->facts);
	return pause_report_write(&o->capture, s->q->spec, s->q->context, s->q->out_dirfd, out, e);
}

static void pause_session_fini(struct attached_session *s)
{
	struct pause_own *o = pause_session_own(s);
	pause_collect_free(o->collect);
	pause_frames_fini(&o->frames);
	pause_capture_fini(&o->capture);
}

const struct session_profiler pause_session = {
	.name = "RuntimePauses",
	.features = CHANNEL_WANT_SUSPENDS,
	.nothing = {REASON_AttachFailed, "the library did not tell of pauses"},
	.own_size = sizeof(struct pause_own),
	.start = pause_session_start,
	.serve = pause_session_serve,
	.tick = pause_session_tick,
	.stop = pause_session_stop,
	.take = pause_session_take,
	.any = pause_session_any,
	.report = pause_session_report,
	.fini = pause_session_fini,
};
