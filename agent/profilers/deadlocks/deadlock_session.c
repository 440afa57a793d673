#include "agent/profilers/deadlocks/deadlock_session.h"

#include "agent/profilers/deadlocks/deadlock_look.h"
#include "agent/profilers/deadlocks/deadlock_pair.h"
#include "agent/profilers/deadlocks/deadlock_report.h"
#include "agent/stacks/cpu_collect.h"
#include "agent/stacks/sleeping_stack.h"
#include "common/api/reason.h"
#include "common/base/step.h"

#include <errno.h>
#include <string.h>

#define STACKS_MAX 2000 /* threads whose stacks are read */

struct deadlock_own {
	struct deadlock_capture capture;
	struct process_memory memory;
	bool memory_open;
	struct dac_table dac;
	struct deadlock_look first;
	struct cpu_collect *collect;
};

static struct deadlock_own *deadlock_session_own(const struct attached_session *s)
{
	return s->own;
}

/* The first look comes before the library. */
static int deadlock_session_prepare(struct attached_session *s, struct err *e)
{
	struct deadlock_own *o = deadlock_session_own(s);
	if (s->proc_fd < 0)
		return err_set_reason(e, ERR_DENIED, REASON_PermissionDenied,
				      "Deadlocks reads the process's memory and threads from outside: the agent needs the host's pid namespace (hostPID)");
	if (process_memory_open(&o->memory, s->proc_fd) < 0)
		return err_set_reason(e, ERR_DENIED, REASON_PermissionDenied, "the process's memory cannot be read: %s", strerror(errno));
	o->memory_open = true;
	dac_table_read(&o->memory, s->proc_fd, &o->dac);
	STEP("first-look");
	deadlock_look_take(&o->memory, s->proc_fd, &o->dac, &o->first);
	s->started_ns = o->first.at_ns;
	const struct cpu_collect_options options = {
		.capture = &o->capture.stacks,
		.proc_fd = s->proc_fd,
		.same_ids = s->q->target->pid == s->q->target->inner_pid,
		.started_ns = s->started_ns,
		.code = attached_session_ask_code,
		.code_ctx = s,
		.il = attached_session_ask_il,
		.il_ctx = s,
	};
	o->collect = cpu_collect_new(&options);
	return 0;
}

/* stacks ----------------------------------------------------------------------------------------------------------- */

static void read_stacks(struct attached_session *s)
{
	struct deadlock_own *o = deadlock_session_own(s);
	uint8_t *buffer = sleeping_stack_buffer_new();
	size_t read = 0;
	for (uint32_t i = 0; i < o->capture.thread_count && read < STACKS_MAX; i++) {
		if (!deadlock_pair_matters(&o->capture, i))
			continue;
		/* the capture's samples stand for threads: their times are the threads' numbers */
		sleeping_stack_take(o->collect, &o->memory, &o->capture.threads[i].wait, o->first.at_ns + i, buffer);
		read++;
		if (cpu_collect_wants_flush(o->collect))
			cpu_collect_flush(o->collect, attached_session_resolve, s);
	}
	sleeping_stack_buffer_free(buffer);
}

/* the end ---------------------------------------------------------------------------------------------------------- */

static int deadlock_session_stop(struct attached_session *s, struct err *e)
{
	struct deadlock_own *o = deadlock_session_own(s);
	struct deadlock_look second;
	(void)e;
	STEP("second-look");
	deadlock_look_take(&o->memory, s->proc_fd, &o->dac, &second);
	deadlock_pair_make(&o->first, &second, &o->capture);
	deadlock_look_fini(&second);
	read_stacks(s);
	s->samples = (int64_t)cpu_collect_sample_count(o->collect);
	return 0;
}

static void deadlock_session_tick(struct attached_session *s, bool last)
{
	struct deadlock_own *o = deadlock_session_own(s);
	if (!last)
		return;
	cpu_collect_flush(o->collect, attached_session_resolve, s);
	cpu_collect_finish(o->collect);
	for (size_t i = 0; i < o->capture.stacks.sample_count; i++) {
		const struct capture_sample *x = &o->capture.stacks.samples[i];
		if (x->time_ns >= 0 && (size_t)x->time_ns < o->capture.thread_count)
			o->capture.threads[x->time_ns].stack = x->stack;
	}
}

static void deadlock_session_take(struct attached_session *s)
{
	struct deadlock_own *o = deadlock_session_own(s);
	cpu_collect_free(o->collect);
	o->collect = NULL;
	if (o->capture.full)
		limits_note(&s->facts.limits, "threads", THREAD_WAITS_MAX, -1,
			    "The process has more threads or contended locks than are looked at: who waits beyond them is not in this report.");
}

static bool deadlock_session_any(const struct attached_session *s)
{
	return deadlock_session_own(s)->capture.thread_count > 0; /* at the second look: none of a process that has ended */
}

static int deadlock_session_report(struct attached_session *s, struct report_result *out, struct err *e)
{
	return deadlock_report_write(&deadlock_session_own(s)->capture, &s->facts, s->q->spec, s->q->context, s->q->out_dirfd, out, e);
}

static void deadlock_session_fini(struct attached_session *s)
{
	struct deadlock_own *o = deadlock_session_own(s);
	cpu_collect_free(o->collect);
	deadlock_look_fini(&o->first);
	deadlock_capture_fini(&o->capture);
	if (o->memory_open)
		process_memory_close(&o->memory);
}

const struct session_profiler deadlock_session = {
	.name = "Deadlocks",
	.nothing = {REASON_ProcessUnresponsive, "the process's locks were not looked at twice"},
	.own_size = sizeof(struct deadlock_own),
	.prepare = deadlock_session_prepare,
	.stop = deadlock_session_stop,
	.tick = deadlock_session_tick,
	.take = deadlock_session_take,
	.any = deadlock_session_any,
	.report = deadlock_session_report,
	.fini = deadlock_session_fini,
};
