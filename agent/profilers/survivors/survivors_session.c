#include "agent/profilers/survivors/survivors_session.h"

#include "agent/heap/heap_walk.h"
#include "agent/profilers/survivors/survivors_report.h"
#include "common/api/reason.h"
#include "common/base/clock.h"

struct survivors_own {
	struct heap_snapshot *snapshot;
	int64_t walked_ms; /* CLOCK_MONOTONIC: when the walk was over */
};

static int survivors_session_start(struct attached_session *s, struct err *e)
{
	struct survivors_own *own = s->own;
	if (heap_walk_run(s, false, &own->snapshot, e) < 0)
		return -1;
	own->walked_ms = clock_mono_ms();
	attached_session_done(s);
	return 0;
}

static bool survivors_session_any(const struct attached_session *s)
{
	const struct survivors_own *own = s->own;
	return own->snapshot != NULL;
}

static int survivors_session_report(struct attached_session *s, struct report_result *out, struct err *e)
{
	struct survivors_own *own = s->own;
	return survivors_report_write(own->snapshot, own->walked_ms, &s->facts, s->q->spec, s->q->context, s->q->out_dirfd, out, e);
}

static void survivors_session_fini(struct attached_session *s)
{
	struct survivors_own *own = s->own;
	heap_snapshot_free(own->snapshot);
}

const struct session_profiler survivors_session = {
	.name = "GCSurvivors",
	.visits = true,
	.nothing = {REASON_HeapWalkTorn, "the session ended before the heap was read"},
	.own_size = sizeof(struct survivors_own),
	.start = survivors_session_start,
	.any = survivors_session_any,
	.report = survivors_session_report,
	.fini = survivors_session_fini,
};
