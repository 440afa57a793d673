#include "agent/session/session.h"

#include "agent/target/apart.h"
#include "agent/session/attached_session.h"
#include "agent/starts/start_capture.h"
#include "agent/attach/profiler_channel.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/step.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/eventfd.h>

/* A session says something each second, after each of its steps, and before it waits for the library. */
#define PATIENCE_MS (30000 + STEP_HOLD_MS)
#define ANALYSIS_PATIENCE_MS (30 * 60 * 1000) /* of our own work: nothing of the pod is touched any more */

/* The session's own thread ------------------------------------------------------------------------------------------ */

/* Copies of all that a session uses: where a call into the pod hangs, its thread outlives the caller. */
struct own_session {
	const struct session_profiler *profiler;
	struct session_request q;
	struct session_spec spec;
	struct target target;
	struct report_context context;
	struct session_outcome out;
	struct apart *apart;
	session_progress_fn *tell;
	void *tell_ctx;
	struct profiler_channel *kept; /* by the caller; NULL: none */
};

static const char **own_session_text(struct own_session *s, size_t i)
{
	const char **const all[] = {&s->context.session_name, &s->context.session_namespace, &s->context.session_uid, &s->context.pod_name,
				    &s->context.container,    &s->context.node_name,	     &s->context.requested_by, &s->q.library_path};
	return i < sizeof all / sizeof *all ? all[i] : NULL;
}

static int copy_fd(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static void own_session_free(void *ctx)
{
	struct own_session *s = ctx;
	for (size_t i = 0; own_session_text(s, i); i++)
		free((char *)*own_session_text(s, i));
	session_spec_fini(&s->spec);
	target_fini(&s->target);
	session_outcome_fini(&s->out);
	start_capture_free(s->q.start);
	cleanup_fd(&s->q.out_dirfd);
	cleanup_fd(&s->q.cancel_fd);
	free(s);
}

/* What is heard of a session goes to its caller as long as there is one; else it is to end soon. */
static void pass_on(void *ctx, const struct session_progress *p)
{
	struct own_session *s = ctx;
	apart_alive(s->apart, p->phase >= JOB_ANALYZING ? ANALYSIS_PATIENCE_MS : PATIENCE_MS);
	if (apart_hold(s->apart)) {
		if (s->tell)
			s->tell(s->tell_ctx, p);
		apart_let_go(s->apart);
	} else if (s->q.cancel_fd >= 0 && eventfd_write(s->q.cancel_fd, 1) < 0) {
		/* it is no event's, or readable already */
	}
}

/* A wait for the library, or work of our own: it ends by itself, however long the machine makes it. */
static void expect_wait(void *ctx, int64_t most_ms)
{
	struct own_session *s = ctx;
	apart_alive(s->apart, most_ms + PATIENCE_MS);
}

static void expect_channel(void *ctx, struct profiler_channel *ch)
{
	struct own_session *s = ctx;
	bool held = apart_hold(s->apart);
	s->kept = held ? ch : NULL;
	if (held)
		apart_let_go(s->apart);
}

/* The caller's: what the session's thread computes may take longer than the library waits for a word. */
static void keep_channel(void *ctx)
{
	struct own_session *s = ctx;
	if (s->kept)
		profiler_channel_keep(s->kept);
}

static struct own_session *own_session_new(const struct session_profiler *p, const struct session_request *q, const struct session_outcome *out)
{
	struct own_session *s = mem_alloc(sizeof *s);
	*s = (struct own_session){
		.profiler = p, .q = *q, .context = *q->context, .out = *out, .tell = q->on_progress, .tell_ctx = q->progress_ctx};
	session_spec_copy(&s->spec, q->spec);
	target_copy(&s->target, q->target);
	for (size_t i = 0; own_session_text(s, i); i++)
		*own_session_text(s, i) = mem_strdup(*own_session_text(s, i));
	s->q.spec = &s->spec;
	s->q.target = &s->target;
	s->q.context = &s->context;
	s->q.out_dirfd = copy_fd(q->out_dirfd);
	s->q.cancel_fd = copy_fd(q->cancel_fd);
	s->q.on_progress = pass_on;
	s->q.on_wait = expect_wait;
	s->q.on_channel = expect_channel;
	s->q.progress_ctx = s;
	return s;
}

static void run_own(struct apart *a, void *ctx)
{
	struct own_session *s = ctx;
	s->apart = a;
	apart_meanwhile(a, keep_channel);
	attached_session_run(s->profiler, &s->q, &s->out);
}

void session_run(const struct session_profiler *p, const struct session_request *q, struct session_outcome *out)
{
	*out = (struct session_outcome){.phase = JOB_FAILED, .reason = REASON_InternalError, .started_wall_ms = clock_wall_ms()};
	struct own_session *s = own_session_new(p, q, out);
	char place[APART_PLACE_SIZE];
	struct err e = ERR_INIT;
	apart_place(q->target, place);
	if (apart_run(place, run_own, s, own_session_free, PATIENCE_MS, &e) == 0) {
		*out = s->out;
		s->out = (struct session_outcome){0};
		own_session_free(s);
	} else {
		out->reason = reason_of_err(&e);
		out->message = mem_strdup(e.message);
	}
	malloc_trim(0); /* a session's tables are large, and the agent may be idle for days after it */
}

void session_outcome_fini(struct session_outcome *o)
{
	if (!o)
		return;
	free(o->message);
	report_result_fini(&o->report);
	*o = (struct session_outcome){0};
}
