#include "agent/profilers/stucktasks/stuck_session.h"

#include "agent/heap/heap_walk.h"
#include "agent/profilers/stucktasks/stuck_report.h"
#include "agent/profilers/stucktasks/task_holders.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/step.h"

#define STREAM_MEMORY ((size_t)8 << 20) /* of a walk that is over: it is read a few times, in order */
#define LOOK_MS (5 * 60 * 1000) /* to look into one; some seconds on a quiet machine */

struct stuck_own {
	struct task_brief before;
	struct heap_snapshot *last;
	struct stuck_result result;
	int64_t first_ns;
};

static struct stuck_own *stuck_session_own(const struct attached_session *s)
{
	return s->own;
}

/* Without a collection where the runtime can tell of its objects without one: on .NET 9 and later. */
static int stuck_session_walk(struct attached_session *s, struct heap_snapshot **out, struct err *e)
{
	const struct session_spec *spec = s->q->spec;
	const struct heap_walk_options o = {
		.roots = HEAP_ROOTS_NO_COLLECTION,
		.values = true,
		.budget_ms = spec->pause_budget_ms,
		.dirfd = s->q->out_dirfd,
		.files_max = s->q->files_max,
		.settle = STREAM_MEMORY,
		.deadline_ms = s->q->deadline_ms,
		.pid = s->q->target->pid,
		.limits = &s->facts.limits,
	};
	return heap_walk_visit(s, &o, out, e);
}

static int stuck_session_start(struct attached_session *s, struct err *e)
{
	struct stuck_own *o = stuck_session_own(s);
	struct heap_snapshot *h = NULL;
	struct task_look look;
	STEP("first-look");
	if (stuck_session_walk(s, &h, e) < 0)
		return -1;
	s->counts_from_ns = o->first_ns = clock_mono_ns();
	o->result.first = h->facts;
	attached_session_progress(s, JOB_PROFILING);
	attached_session_wait(s, LOOK_MS);
	task_look_make(h, &look);
	task_brief_make(&look, &o->before);
	task_look_fini(&look);
	heap_snapshot_free(h);
	s->samples = 1;
	s->first_sample_ns = o->first_ns;
	return 0;
}

static int stuck_session_stop(struct attached_session *s, struct err *e)
{
	struct stuck_own *o = stuck_session_own(s);
	STEP("second-look");
	if (!o->first_ns || !attached_session_may_ask(s))
		return 0;
	if (stuck_session_walk(s, &o->last, e) < 0)
		return -1;
	o->result.between_ns = clock_mono_ns() - o->first_ns;
	o->result.second = o->last->facts;
	s->samples++;
	return 0;
}

static bool stuck_session_any(const struct attached_session *s)
{
	return stuck_session_own(s)->last != NULL;
}

static int stuck_session_report(struct attached_session *s, struct report_result *out, struct err *e)
{
	struct stuck_own *o = stuck_session_own(s);
	struct task_look look;
	task_look_make(o->last, &look);
	task_holders_find(&look);
	o->result.holders_known = look.holders_known;
	task_groups_make(&look, &o->before, &o->result.groups);
	if (task_look_strange(&look))
		engine_doubt(&s->facts.engines, ENGINE_ASYNC, "tasks are waited for by nothing that is known as an async operation");
	task_look_fini(&look);
	return stuck_report_write(&o->result, &s->facts, s->q->spec, s->q->context, s->q->out_dirfd, out, e);
}

static void stuck_session_fini(struct attached_session *s)
{
	struct stuck_own *o = stuck_session_own(s);
	heap_snapshot_free(o->last);
	task_brief_fini(&o->before);
	task_groups_fini(&o->result.groups);
}

const struct session_profiler stuck_session = {
	.name = "StuckTasks",
	.visits = true,
	.nothing = {REASON_HeapWalkTorn, "the process's async operations were not looked at twice"},
	.own_size = sizeof(struct stuck_own),
	.start = stuck_session_start,
	.stop = stuck_session_stop,
	.any = stuck_session_any,
	.report = stuck_session_report,
	.fini = stuck_session_fini,
};
