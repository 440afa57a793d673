#include "agent/profilers/deadlocks/deadlock_session.h"

#include "agent/locks/pool_queue.h"
#include "agent/locks/wait_peer.h"
#include "agent/profilers/deadlocks/deadlock_analysis.h"
#include "agent/profilers/deadlocks/deadlock_blocked.h"
#include "agent/profilers/deadlocks/deadlock_doubt.h"
#include "agent/profilers/deadlocks/deadlock_look.h"
#include "agent/profilers/deadlocks/deadlock_pair.h"
#include "agent/profilers/deadlocks/deadlock_report.h"
#include "agent/profilers/deadlocks/deadlock_tasks.h"
#include "agent/stacks/cpu_collect.h"
#include "agent/stacks/outside_names.h"
#include "agent/stacks/sleeping_stack.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/step.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STACKS_MAX 2000  /* threads whose stacks are read */
#define EARLY_MS 20      /* between the looks that may find a circle that is certain */
#define PEERS_MAX 16     /* holders whose connection is looked for */
#define ROUND_SHIFT 20   /* of the times that stand for threads: more than there can be */

struct deadlock_own {
	struct deadlock_capture capture;
	struct process_memory memory;
	bool memory_open;
	struct work_budget budget; /* of one look, by `memory` */
	struct dac_table dac;
	struct managed_locks managed;
	struct managed_locks older; /* of .NET 8: for the names of types alone; zeroed: of a newer one */
	struct deadlock_look first;
	struct outside_names *outside; /* for a process that takes no library */
	struct cpu_collect *collect;
	int64_t first_queue; /* items in the thread pool's queue at the first look; -1: not known */
	int64_t began_ns;
	int64_t round; /* of second looks */
	bool proven;   /* by the one that came early: there is none at the end */
};

static struct deadlock_own *deadlock_session_own(const struct attached_session *s)
{
	return s->own;
}

static int64_t read_pool_queue(const struct attached_session *s, const struct thread_wait *list, size_t count)
{
	struct deadlock_own *o = deadlock_session_own(s);
	if (engine_lacks(&s->facts.engines, ENGINE_POOL_QUEUE))
		return POOL_QUEUE_UNKNOWN;
	return pool_queue_length(&o->memory, o->managed.types, pool_queue_find(&o->memory, o->managed.types, list, count));
}

/* The first look comes before the library. */
static int deadlock_session_prepare(struct attached_session *s, struct err *e)
{
	struct deadlock_own *o = deadlock_session_own(s);
	o->began_ns = clock_mono_ns();
	if (s->proc_fd < 0)
		return err_set_reason(e, ERR_DENIED, REASON_PermissionDenied,
				      "Deadlocks reads the process's memory and threads from outside: the agent needs the host's pid namespace (hostPID)");
	if (process_memory_open(&o->memory, s->proc_fd) < 0)
		return err_set_reason(e, ERR_DENIED, REASON_PermissionDenied, "the process's memory cannot be read: %s", strerror(errno));
	o->memory_open = true;
	o->memory.budget = &o->budget;
	dac_table_read(&o->memory, s->proc_fd, &o->dac);
	if (engine_lacks(&s->facts.engines, ENGINE_MONITORS))
		o->dac.why = engine_lacks(&s->facts.engines, ENGINE_MONITORS);
	managed_locks_init(&o->managed, &o->memory, s->proc_fd);
	o->managed.locks_unread = engine_lacks(&s->facts.engines, ENGINE_LOCKS) != NULL;
	o->outside = outside_names_new(&o->memory, &o->managed.contract, &o->dac, !engine_lacks(&s->facts.engines, ENGINE_NAMES));
	s->outside = (struct session_outside){outside_names_resolve, outside_names_code, o->outside};
	if (runtime_contract_unread(&o->managed.contract))
		engine_doubt(&s->facts.engines, ENGINE_MONITORS, runtime_contract_unread(&o->managed.contract));
	if (!o->managed.contract.told)
		managed_locks_init_of_8(&o->older, &o->memory);
	STEP("first-look");
	work_budget_begin_anew(&o->budget, WORK_LOCKS);
	if (deadlock_look_take(&o->memory, s->proc_fd, &o->dac, &o->managed, &o->first, e) < 0)
		return -1;
	s->started_ns = o->first.at_ns;
	o->first_queue = read_pool_queue(s, o->first.threads, o->first.thread_count);
	work_budget_end(&o->budget);
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

/* the second look -------------------------------------------------------------------------------------------------- */

static bool stack_is_wanted(const struct deadlock_capture *c, uint32_t thread, bool of_locks)
{
	bool matters = deadlock_pair_matters(c, thread);
	return of_locks ? matters : !matters && deadlock_blocked_may(&c->threads[thread]);
}

/* Of those that wait for a lock or hold one; else of the others that may be blocked. */
static void read_stacks(struct attached_session *s, bool of_locks)
{
	struct deadlock_own *o = deadlock_session_own(s);
	uint8_t *buffer = sleeping_stack_buffer_new();
	size_t read = 0;
	for (uint32_t i = 0; i < o->capture.thread_count && read < STACKS_MAX; i++) {
		if (!stack_is_wanted(&o->capture, i, of_locks))
			continue;
		/* the capture's samples stand for threads: their times are the threads' numbers, and the look's */
		sleeping_stack_take(o->collect, &o->memory, &o->capture.threads[i].wait, o->first.at_ns + (o->round << ROUND_SHIFT) + i, buffer);
		read++;
		if (cpu_collect_wants_flush(o->collect))
			cpu_collect_flush(o->collect, attached_session_resolve, s);
	}
	sleeping_stack_buffer_free(buffer);
}

static void name_stacks(struct attached_session *s)
{
	struct deadlock_own *o = deadlock_session_own(s);
	cpu_collect_flush(o->collect, attached_session_resolve, s);
	for (size_t i = 0; i < o->capture.stacks.sample_count; i++) {
		const struct capture_sample *x = &o->capture.stacks.samples[i];
		uint64_t thread = (uint64_t)x->time_ns & ((1u << ROUND_SHIFT) - 1);
		if (x->time_ns >> ROUND_SHIFT == o->round && thread < o->capture.thread_count)
			o->capture.threads[thread].stack = x->stack;
	}
	deadlock_pair_witness(&o->capture);
}

/* What the locks are locks of, and which machine a holder waits for that waits for no lock. */
static void describe_locks(struct attached_session *s)
{
	struct deadlock_own *o = deadlock_session_own(s);
	struct deadlock_capture *c = &o->capture;
	int asked = 0;
	for (size_t i = 0; i < c->lock_count; i++) {
		struct waited_lock *l = &c->locks[i];
		if (!l->seen)
			continue;
		if (l->monitor.kind != LOCK_KIND_TASK)
			snprintf(l->type, sizeof l->type, "%s", managed_locks_type(&o->managed, l->monitor.type));
		struct locked_thread *holder = l->holder == WAIT_NONE ? NULL : &c->threads[l->holder];
		if (holder && holder->lock == WAIT_NONE && !holder->peer[0] && asked++ < PEERS_MAX)
			wait_peer_of(&o->memory, s->proc_fd, &holder->wait, holder->peer);
	}
}

static bool may_be_code(void *collect, uint64_t address)
{
	return cpu_collect_is_code(collect, address);
}

static void find_tasks(struct attached_session *s, bool early)
{
	struct deadlock_own *o = deadlock_session_own(s);
	const struct deadlock_tasks_source source = {
		.memory = &o->memory,
		.proc_fd = s->proc_fd,
		.managed = o->older.types ? &o->older : &o->managed,
		.is_code = may_be_code,
		.code_ctx = o->collect,
		.resolve = !s->unattached.reason || outside_names_able(o->outside) ? attached_session_resolve : NULL,
		.resolve_ctx = s,
		.whole = !early,
	};
	deadlock_tasks_find(&source, &o->capture);
}

static int take_second_look(struct attached_session *s, bool early, struct err *e)
{
	struct deadlock_own *o = deadlock_session_own(s);
	struct deadlock_look second;
	STEP(early ? "early-look" : "second-look");
	deadlock_capture_reset(&o->capture);
	work_budget_begin_anew(&o->budget, WORK_LOCKS);
	if (deadlock_look_take(&o->memory, s->proc_fd, &o->dac, &o->managed, &second, e) < 0)
		return -1;
	deadlock_pair_make(&o->first, &second, &o->capture);
	o->capture.first_queue = o->first_queue;
	o->capture.second_queue = early ? -1 : read_pool_queue(s, second.threads, second.thread_count);
	work_budget_begin_anew(&o->budget, WORK_LOCKS);
	if (!engine_lacks(&s->facts.engines, ENGINE_TASKS))
		find_tasks(s, early);
	work_budget_end(&o->budget);
	o->capture.main_tid = (uint32_t)s->q->target->inner_pid;
	deadlock_look_fini(&second);
	o->capture.other_locks = o->managed.contract.known && !o->managed.locks_unread;
	o->round++;
	return 0;
}

static bool circle_is_proven(const struct deadlock_capture *c, bool named)
{
	struct deadlock_analysis a;
	if (c->unread)
		return false;
	deadlock_analysis_make(c, &a);
	bool proven = deadlock_analysis_proven(&a, named);
	deadlock_analysis_fini(&a);
	return proven;
}

/* A circle of threads that sleep without a time limit, and of which none has run, is there for good: who holds a lock would have to run to release it. No
 * longer look tells more of it. */
static int deadlock_session_start(struct attached_session *s, struct err *e)
{
	struct deadlock_own *o = deadlock_session_own(s);
	clock_sleep_until_ms(o->first.at_ns / 1000000 + EARLY_MS);
	if (take_second_look(s, true, e) < 0)
		return -1;
	if (circle_is_proven(&o->capture, false)) {
		read_stacks(s, true);
		name_stacks(s);
		o->proven = circle_is_proven(&o->capture, true);
	}
	if (!o->proven)
		return 0;
	o->capture.proven_ns = clock_mono_ns() - o->began_ns;
	describe_locks(s);
	attached_session_done(s);
	return 0;
}

/* the end ---------------------------------------------------------------------------------------------------------- */

static int deadlock_session_stop(struct attached_session *s, struct err *e)
{
	struct deadlock_own *o = deadlock_session_own(s);
	if (!o->proven) {
		if (take_second_look(s, false, e) < 0)
			return -1;
		read_stacks(s, true);
		if (!s->unattached.reason || outside_names_able(o->outside))
			read_stacks(s, false);
		describe_locks(s);
	}
	s->samples = (int64_t)cpu_collect_sample_count(o->collect);
	return 0;
}

static void check_locks(struct attached_session *s)
{
	struct deadlock_own *o = deadlock_session_own(s);
	AUTO_FREE struct thread_wait *now = NULL;
	bool more;
	if (o->proven || deadlock_doubt_count(&o->capture) == 0)
		return;
	ssize_t count = thread_wait_list(s->proc_fd, &now, &more);
	const char *why = deadlock_doubt_why(&o->capture, now, count > 0 ? (size_t)count : 0);
	if (why)
		engine_doubt(&s->facts.engines, ENGINE_MONITORS, why);
}

static void deadlock_session_tick(struct attached_session *s, bool last)
{
	struct deadlock_own *o = deadlock_session_own(s);
	if (!last)
		return;
	if (!o->proven)
		name_stacks(s);
	check_locks(s);
	cpu_collect_finish(o->collect);
}

static void deadlock_session_take(struct attached_session *s)
{
	struct deadlock_own *o = deadlock_session_own(s);
	cpu_collect_free(o->collect);
	o->collect = NULL;
	o->capture.unattached = s->unattached.reason;
	o->capture.named = !s->unattached.reason || o->capture.stacks.managed_frames > o->capture.stacks.unresolved_frames;
	if (s->unattached.reason)
		limits_note(&s->facts.limits, "names", -1, -1, "The library could not be attached (%s: %s): %s.", s->unattached.reason, s->unattached.message,
			    o->capture.named ? "method names were read from the process's memory, source lines are missing"
					     : "methods have no names in this report");
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
	outside_names_free(o->outside);
	managed_locks_fini(&o->managed);
	managed_locks_fini(&o->older);
	deadlock_capture_fini(&o->capture);
	if (o->memory_open)
		process_memory_close(&o->memory);
}

const struct session_profiler deadlock_session = {
	.name = "Deadlocks",
	.without = TARGET_WITHOUT_LIBRARY,
	.nothing = {REASON_ProcessExited, "the process had no threads any more at the second look"},
	.own_size = sizeof(struct deadlock_own),
	.prepare = deadlock_session_prepare,
	.start = deadlock_session_start,
	.stop = deadlock_session_stop,
	.tick = deadlock_session_tick,
	.take = deadlock_session_take,
	.any = deadlock_session_any,
	.report = deadlock_session_report,
	.fini = deadlock_session_fini,
};
