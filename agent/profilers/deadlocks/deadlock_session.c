#include "agent/profilers/deadlocks/deadlock_session.h"

#include "agent/perf/perf_record.h"
#include "agent/perf/secret_memory.h"
#include "agent/profilers/deadlocks/deadlock_look.h"
#include "agent/profilers/deadlocks/deadlock_pair.h"
#include "agent/profilers/deadlocks/deadlock_report.h"
#include "agent/stacks/code_client.h"
#include "agent/stacks/cpu_collect.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
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
	struct code_client code;
};

static struct deadlock_own *deadlock_session_own(const struct attached_session *s)
{
	return s->own;
}

static int ask_deadlock_code(void *ctx, const uint64_t *ips, size_t count, struct channel_code_body *out)
{
	struct attached_session *s = ctx;
	struct deadlock_own *o = deadlock_session_own(s);
	struct err e = ERR_INIT;
	if (!attached_session_may_ask(s))
		return -1;
	if (!o->code.channel)
		code_client_init(&o->code, s->attach.channel);
	if (code_client_ask(&o->code, ips, count, out, attached_session_answer_until_ms(s), &e) == 0)
		return 0;
	attached_session_no_answer(s, "the places of code could not be asked for", &e);
	return -1;
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
		.code = ask_deadlock_code,
		.code_ctx = s,
	};
	o->collect = cpu_collect_new(&options);
	return 0;
}

/* stacks ----------------------------------------------------------------------------------------------------------- */

/* Where the thread's frame pointer leads is not told from outside. Functions of libc that wait keep none; those above them do: the first pair of a saved
 * pointer that leads up the stack, and a word behind it that may be a return address. */
static uint64_t guess_frame_pointer(uint64_t sp, const uint8_t *stack, size_t bytes)
{
	uint64_t pair[2];
	for (size_t at = 0; at + sizeof pair <= bytes; at += 8) {
		memcpy(pair, stack + at, sizeof pair);
		if (pair[0] > sp + at && pair[0] < sp + bytes && (pair[0] & 7) == 0 && pair[1] > 0x10000 && (pair[1] < sp || pair[1] > sp + bytes))
			return sp + at;
	}
	return 0;
}

/* The capture's samples stand for threads: their times are the threads' numbers. */
static void read_thread_stack(struct deadlock_own *o, uint32_t thread, uint8_t *stack)
{
	const struct thread_wait *t = &o->capture.threads[thread].wait;
	size_t bytes = t->sp ? process_memory_read(&o->memory, t->sp, stack, LOOK_STACK_BYTES) : 0;
	struct perf_sample x = {
		.tid = (uint32_t)t->tid,
		.time_ns = o->first.at_ns + thread,
		.has_registers = true,
		.registers = {.ip = t->ip, .sp = t->sp, .fp = guess_frame_pointer(t->sp, stack, bytes)},
		.user = &t->ip,
		.user_depth = 1,
		.stack = stack,
		.stack_bytes = bytes,
	};
	if (bytes)
		cpu_collect_perf_sample(o->collect, &x);
}

static void read_stacks(struct attached_session *s)
{
	struct deadlock_own *o = deadlock_session_own(s);
	uint8_t *stack = secret_memory_new(LOOK_STACK_BYTES);
	size_t read = 0;
	for (uint32_t i = 0; i < o->capture.thread_count && read < STACKS_MAX; i++) {
		if (!deadlock_pair_matters(&o->capture, i))
			continue;
		read_thread_stack(o, i, stack);
		read++;
		if (cpu_collect_wants_flush(o->collect))
			cpu_collect_flush(o->collect, attached_session_resolve, s);
	}
	secret_memory_free(stack, LOOK_STACK_BYTES, LOOK_STACK_BYTES);
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
	return deadlock_session_own(s)->capture.between_ns > 0;
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
