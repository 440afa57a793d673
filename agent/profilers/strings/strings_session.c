#include "agent/profilers/strings/strings_session.h"

#include "agent/heap/heap_walk.h"
#include "agent/profilers/strings/strings_report.h"
#include "common/api/reason.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

struct strings_own {
	struct heap_snapshot *snapshot;
	uint8_t secret[STRINGS_SECRET_BYTES];
};

static struct strings_own *strings_session_own(const struct attached_session *s)
{
	return s->own;
}

static int strings_session_prepare(struct attached_session *s, struct err *e)
{
	struct strings_own *o = strings_session_own(s);
	if (getrandom(o->secret, sizeof o->secret, 0) != (ssize_t)sizeof o->secret)
		return err_set_errno(e, errno, "cannot get random bytes");
	return 0;
}

/* Who holds a string is told by references; roots only name who holds their arrays: not worth a forced collection. */
static int strings_session_start(struct attached_session *s, struct err *e)
{
	const struct heap_walk_options o = {
		.roots = HEAP_ROOTS_NO_COLLECTION,
		.strings = true,
		.reveal = s->q->spec->reveal,
		.budget_ms = s->q->spec->pause_budget_ms,
		.dirfd = s->q->out_dirfd,
		.pid = s->q->target->pid,
		.limits = &s->facts.limits,
		.files_max = s->q->files_max,
		.deadline_ms = s->q->deadline_ms,
	};
	if (heap_walk_visit(s, &o, &strings_session_own(s)->snapshot, e) < 0)
		return -1;
	attached_session_done(s);
	return 0;
}

static bool strings_session_any(const struct attached_session *s)
{
	return strings_session_own(s)->snapshot != NULL;
}

static void alive(void *ctx)
{
	attached_session_progress(ctx, JOB_ANALYZING);
}

static int strings_session_report(struct attached_session *s, struct report_result *out, struct err *e)
{
	struct strings_own *o = strings_session_own(s);
	struct strings_analysis a;
	const struct strings_options options = {.reveal = s->q->spec->reveal, .secret = o->secret, .alive = alive, .ctx = s};
	strings_analysis_make(o->snapshot, &options, &a);
	int r = strings_report_write(&a, &s->facts, s->q->spec, s->q->context, s->q->out_dirfd, out, e);
	strings_analysis_fini(&a);
	return r;
}

static void strings_session_fini(struct attached_session *s)
{
	struct strings_own *o = strings_session_own(s);
	heap_snapshot_free(o->snapshot);
	explicit_bzero(o->secret, sizeof o->secret);
}

const struct session_profiler strings_session = {
	.name = "DuplicatedStrings",
	.visits = true,
	.nothing = {REASON_HeapWalkTorn, "the heap was not walked"},
	.own_size = sizeof(struct strings_own),
	.prepare = strings_session_prepare,
	.start = strings_session_start,
	.any = strings_session_any,
	.report = strings_session_report,
	.fini = strings_session_fini,
};
