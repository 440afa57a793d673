/* A job whose container is sampled since it began: until its runtime answers. */
#include "agent/jobs/jobs_private.h"
#include "common/api/reason.h"
#include "common/base/clock.h"

#include <poll.h>

#define LOOK_MS 10
#define LOOKS_MS 15000   /* a runtime that has been seen in a process answers within moments; at its CPU limit it takes seconds */
#define DISCOVER_MS 5000
#define START_OVER_NS 3000000000

const char *job_start_claim(struct jobs *j, struct job *job)
{
	struct start_capture *c = job->start = j->config.starts ? start_watch_claim(j->config.starts, job->order.pod_uid) : NULL;
	if (!c)
		return "the agent no longer has what it sampled of the container's start: it was restarted, or the order came too late";
	bool over = c->ended && clock_mono_ns() - c->ended_ns > START_OVER_NS;
	return over ? "the container's process had ended before the session's turn came" : NULL;
}

static bool is_to_end(const struct job *job)
{
	struct pollfd cancel = {.fd = job->cancel_fd, .events = POLLIN};
	return clock_mono_ms() >= job->deadline_mono_ms || poll(&cancel, 1, 0) > 0;
}

/* What is in the way goes by itself in a process that has just begun. */
static bool may_change(const struct target *t)
{
	return t->reason == REASON_DiagnosticsDisabled || t->reason == REASON_AttachFailed || t->reason == REASON_NoStagingPlace ||
	       t->reason == REASON_ProcessSuspended;
}

/* 1: it answers; 0: not yet; -1: it never will. */
static int ask_runtime(struct jobs *j, const struct start_capture *c, struct target *out, struct err *e)
{
	struct discover_options options = {
		.mode = j->config.mode,
		.proc_root = j->config.proc_root,
		.pid = c->target.pid,
		.held = true,
		.query_runtime = true,
		.deadline_ms = clock_mono_ms() + DISCOVER_MS,
	};
	struct target_list list = {0};
	int answer = 0;
	if (j->config.operations->discover(&options, &list, e) < 0)
		return -1;
	const struct target *t = list.count ? &list.items[0] : NULL;
	if (t && t->profilable && t->start_time == c->target.start_time) {
		target_copy(out, t);
		answer = 1;
	} else if (t && t->reason && !may_change(t)) {
		answer = err_set_reason(e, ERR_INVALID, t->reason, "%s", t->message);
	}
	target_list_fini(&list);
	return answer;
}

int job_start_await(struct jobs *j, struct job *job, struct start_capture *c, struct target *out, struct err *e)
{
	int64_t until_ms = clock_mono_ms() + LOOKS_MS;
	for (;;) {
		start_capture_update(c);
		int answer = c->ended ? 0 : ask_runtime(j, c, out, e);
		if (answer != 0)
			return answer;
		if (c->ended || clock_mono_ms() >= until_ms || is_to_end(job)) {
			target_copy(out, &c->target);
			return 0;
		}
		clock_sleep_until_ms(clock_mono_ms() + LOOK_MS);
	}
}
