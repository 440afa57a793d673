#include "agent/profilers/threads/threads_session.h"

#include "agent/host/cgroup_dir.h"
#include "agent/host/proc.h"
#include "agent/locks/managed_locks.h"
#include "agent/locks/pool_queue.h"
#include "agent/locks/stack_ends.h"
#include "agent/perf/perf_pump.h"
#include "agent/perf/secret_memory.h"
#include "agent/locks/dac_table.h"
#include "agent/profilers/threads/threads_report.h"
#include "agent/stacks/cpu_collect.h"
#include "agent/stacks/outside_names.h"
#include "agent/stacks/sleeping_stack.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/size_text.h"
#include "common/base/step.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACKS_MAX 8192    /* threads whose stacks are read */
#define SAMPLES_HERTZ 49   /* of threads that never sleep */
#define AGAIN_TURNS 40     /* looks at a thread that runs */
#define AGAIN_MS 5         /* between them */

struct threads_own {
	struct threads_capture capture;
	struct process_memory memory;
	bool memory_open;
	struct work_budget budget; /* of one look, by `memory` */
	struct dac_table dac;
	struct runtime_contract contract;
	struct outside_names *outside; /* for a process that takes no library */
	struct threads_look first;
	struct perf_sampler *perf; /* NULL: not allowed */
	struct perf_pump *pump;
	struct cpu_collect *collect;
	bool paired;
	size_t left_out;           /* threads beyond STACKS_MAX */
};

static struct threads_own *threads_session_own(const struct attached_session *s)
{
	return s->own;
}

/* before the attach ------------------------------------------------------------------------------------------------ */

static void start_sampling(struct attached_session *s)
{
	struct threads_own *o = threads_session_own(s);
	struct err why = ERR_INIT;
	const struct perf_sampler_options options = {
		.pid = s->q->target->pid, .proc_fd = s->proc_fd, .frequency_hertz = SAMPLES_HERTZ, .stacks = true};
	STEP("start-perf");
	o->perf = perf_sampler_open(&options, &why);
	o->pump = o->perf ? perf_pump_start(o->perf, &why) : NULL;
	if (o->perf && !o->pump) {
		perf_sampler_close(o->perf);
		o->perf = NULL;
	}
	o->capture.sampled = o->perf != NULL;
	if (!o->perf)
		LOG_DEBUG("session", "threads that never sleep will have no stack", LOG_S("why", why.message));
}

static int64_t read_pool_queue(struct attached_session *s, const struct threads_look *l)
{
	struct threads_own *o = threads_session_own(s);
	struct managed_locks runtime;
	if (engine_lacks(&s->facts.engines, ENGINE_POOL_QUEUE))
		return POOL_QUEUE_UNKNOWN;
	work_budget_begin_anew(&o->budget, WORK_LOCKS);
	managed_locks_init(&runtime, &o->memory, s->proc_fd);
	uint64_t queue = pool_queue_find(&o->memory, runtime.types, l->waits, l->count);
	int64_t length = pool_queue_length(&o->memory, runtime.types, queue);
	managed_locks_fini(&runtime);
	work_budget_end(&o->budget);
	return length;
}

static void read_contract(struct attached_session *s)
{
	struct threads_own *o = threads_session_own(s);
	struct managed_locks runtime;
	managed_locks_init(&runtime, &o->memory, s->proc_fd);
	o->contract = runtime.contract;
	managed_locks_fini(&runtime);
	if (runtime_contract_unread(&o->contract))
		engine_doubt(&s->facts.engines, ENGINE_MONITORS, runtime_contract_unread(&o->contract));
}

/* The first look comes before the library. */
static int threads_session_prepare(struct attached_session *s, struct err *e)
{
	struct threads_own *o = threads_session_own(s);
	if (s->proc_fd < 0)
		return err_set_reason(e, ERR_DENIED, REASON_PermissionDenied,
				      "Threads reads the process's memory and threads from outside: the agent needs the host's pid namespace (hostPID)");
	if (process_memory_open(&o->memory, s->proc_fd) < 0)
		return err_set_reason(e, ERR_DENIED, REASON_PermissionDenied, "the process's memory cannot be read: %s", strerror(errno));
	o->memory_open = true;
	o->memory.budget = &o->budget;
	dac_table_read(&o->memory, s->proc_fd, &o->dac);
	read_contract(s);
	o->outside = outside_names_new(&o->memory, &o->contract, &o->dac, !engine_lacks(&s->facts.engines, ENGINE_NAMES));
	s->outside = (struct session_outside){outside_names_resolve, outside_names_code, o->outside};
	STEP("first-look");
	if (threads_look_take(s->proc_fd, &o->first, e) < 0)
		return -1;
	s->started_ns = o->first.at_ns;
	int64_t queue = read_pool_queue(s, &o->first);
	start_sampling(s);
	const struct cpu_collect_options options = {
		.capture = &o->capture.stacks,
		.proc_fd = s->proc_fd,
		.same_ids = s->q->target->pid == s->q->target->inner_pid,
		.started_ns = s->started_ns,
		.max_depth = o->perf ? perf_sampler_max_depth(o->perf) : 0,
		.code = attached_session_ask_code,
		.code_ctx = s,
		.il = attached_session_ask_il,
		.il_ctx = s,
	};
	o->collect = cpu_collect_new(&options);
	o->capture.first_queue = queue;
	return 0;
}

/* Without names a report says nothing of what threads do. */
static int threads_session_start(struct attached_session *s, struct err *e)
{
	if (!s->unattached.reason || s->unattached.reason == REASON_NativeAOT || outside_names_able(threads_session_own(s)->outside))
		return 0;
	*e = s->unattached;
	return -1;
}

/* meanwhile -------------------------------------------------------------------------------------------------------- */

static void on_running_sample(void *ctx, const struct perf_sample *x)
{
	cpu_collect_perf_sample(ctx, x);
}

static void on_running_comm(void *ctx, uint32_t tid, const char *comm)
{
	cpu_collect_thread_name(ctx, tid, comm);
}

static void take_running_samples(struct attached_session *s)
{
	struct threads_own *o = threads_session_own(s);
	if (o->pump)
		perf_pump_take(o->pump, on_running_sample, on_running_comm, o->collect);
	if (cpu_collect_wants_flush(o->collect))
		cpu_collect_flush(o->collect, attached_session_resolve, s);
}

/* the second look -------------------------------------------------------------------------------------------------- */

/* Where the thread sleeps now; false: it runs, or has ended. */
static bool thread_sleeps(int proc_fd, struct thread_wait *t)
{
	char path[64], text[512];
	snprintf(path, sizeof path, "task/%d/syscall", (int)t->tid);
	return fsio_read_small(proc_fd, path, text, sizeof text) > 0 && thread_wait_parse_syscall(text, t) == 0 && t->sp;
}

/* As it lay while the thread slept: it sleeps at the same place after it was read. */
static bool read_one_stack(struct attached_session *s, struct seen_thread *t, uint8_t *buffer)
{
	struct threads_own *o = threads_session_own(s);
	struct thread_wait now = t->wait;
	if (!thread_sleeps(s->proc_fd, &now) || !sleeping_stack_take(o->collect, &o->memory, &now, clock_mono_ns(), buffer))
		return false;
	t->wait.sp = now.sp;
	t->wait.ip = now.ip;
	t->wait.system_call = now.system_call;
	t->wait.timed = now.timed;
	t->witness = STACK_ASLEEP;
	if (cpu_collect_wants_flush(o->collect))
		cpu_collect_flush(o->collect, attached_session_resolve, s);
	return true;
}

/* Those that run are looked at again until they sleep. */
static void read_thread_stacks(struct attached_session *s)
{
	struct threads_own *o = threads_session_own(s);
	struct threads_capture *c = &o->capture;
	uint8_t *buffer = sleeping_stack_buffer_new();
	size_t most = c->count < STACKS_MAX ? c->count : STACKS_MAX, missing = most;
	o->left_out = c->count - most;
	for (int turn = 0; turn < AGAIN_TURNS && missing; turn++) {
		if (turn)
			clock_sleep_until_ms(clock_mono_ms() + AGAIN_MS);
		for (size_t i = 0; i < most; i++)
			if (c->threads[i].witness == STACK_NOT_READ)
				missing -= read_one_stack(s, &c->threads[i], buffer);
	}
	sleeping_stack_buffer_free(buffer);
}

/* which monitors they wait for ------------------------------------------------------------------------------------- */

/* Before .NET 10 no frame tells who waits for a monitor: the runtime's table does, where it counts as many as are found. */
static void mark_monitor_waits(struct threads_own *o, int proc_fd, const struct sync_table *table)
{
	struct threads_capture *c = &o->capture;
	uint64_t *words = secret_memory_new(SLEEPING_STACK_BYTES);
	uint32_t *lock_of = mem_calloc(c->count + 1, sizeof *lock_of), *found = mem_calloc(table->waited_count + 1, sizeof *found);
	struct stack_ends ends;
	stack_ends_load(proc_fd, &ends);
	for (size_t i = 0; i < c->count; i++) {
		const struct thread_wait *w = &c->threads[i].wait;
		uint64_t sp = w->sp & ~UINT64_C(7);
		size_t most = stack_ends_bytes(&ends, sp, SLEEPING_STACK_BYTES);
		size_t bytes = w->system_call == SYS_futex && sp ? process_memory_read(&o->memory, sp, words, most) : 0;
		lock_of[i] = sync_table_waited(table, words, bytes / sizeof *words);
		if (lock_of[i] != UINT32_MAX)
			found[lock_of[i]]++;
	}
	for (size_t i = 0; i < c->count; i++)
		c->threads[i].monitor = lock_of[i] != UINT32_MAX && found[lock_of[i]] == table->waited[lock_of[i]].waiters;
	stack_ends_fini(&ends);
	free(lock_of);
	free(found);
	secret_memory_free((uint8_t *)words, SLEEPING_STACK_BYTES, SLEEPING_STACK_BYTES);
}

static void find_monitor_waits(struct attached_session *s)
{
	struct threads_own *o = threads_session_own(s);
	const struct dac_table *dac = &o->dac;
	struct sync_table table = {0};
	const struct managed_threads nobody = {0}; /* whose they are is not asked */
	if (engine_lacks(&s->facts.engines, ENGINE_MONITORS))
		return;
	work_budget_begin_anew(&o->budget, WORK_LOCKS);
	uint64_t at = dac->why || runtime_contract_unread(&o->contract) ? 0 : sync_table_find(&o->memory, dac->words, dac->count);
	if (at)
		sync_table_read(&o->memory, at, &o->contract, &nobody, &table);
	if (table.waited_count)
		mark_monitor_waits(o, s->proc_fd, &table);
	work_budget_end(&o->budget);
	sync_table_fini(&table);
}

/* The kernel keeps 15 bytes of a name. */
static void complete_names(struct attached_session *s, struct threads_look *l)
{
	struct threads_own *o = threads_session_own(s);
	struct managed_locks runtime;
	struct managed_threads known;
	if (engine_lacks(&s->facts.engines, ENGINE_NAMES))
		return;
	work_budget_begin_anew(&o->budget, WORK_LOCKS);
	managed_locks_init(&runtime, &o->memory, s->proc_fd);
	managed_threads_read(&o->memory, &runtime.contract, &known);
	managed_threads_name(&known, &o->memory, runtime.types, &runtime.contract, l->waits, l->count);
	work_budget_end(&o->budget);
	managed_threads_fini(&known);
	managed_locks_fini(&runtime);
}

static void read_limits(struct attached_session *s)
{
	struct threads_capture *c = &threads_session_own(s)->capture;
	struct cgroup_dir dir;
	c->pids_current = c->pids_max = -1;
	if (!cgroup_dir_of(PROC_ROOT, s->q->target->pid, "pids", &dir))
		return;
	cgroup_dir_leave_for_container(&dir);
	c->pids_current = cgroup_dir_number(&dir, "pids.current");
	int64_t max = c->pids_current < 0 ? -1 : cgroup_dir_number(&dir, "pids.max");
	c->pids_max = max == INT64_MAX ? 0 : max;
}

static int threads_session_stop(struct attached_session *s, struct err *e)
{
	struct threads_own *o = threads_session_own(s);
	struct threads_look second;
	if (o->perf) {
		perf_sampler_stop(o->perf);
		perf_pump_stop(o->pump);
	}
	take_running_samples(s);
	STEP("second-look");
	if (threads_look_take(s->proc_fd, &second, e) < 0)
		return -1;
	o->capture.second_queue = read_pool_queue(s, &second);
	complete_names(s, &second);
	threads_capture_pair(&o->first, &second, sysconf(_SC_CLK_TCK), &o->capture);
	threads_look_fini(&second);
	o->capture.main_tid = (uint32_t)s->q->target->inner_pid;
	int64_t age_ms = proc_uptime_ms(s->proc_fd);
	o->capture.process_age_ns = age_ms < 0 ? -1 : age_ms * 1000000;
	o->paired = true;
	read_limits(s);
	read_thread_stacks(s);
	find_monitor_waits(s);
	s->samples = (int64_t)cpu_collect_sample_count(o->collect);
	return 0;
}

/* the end ---------------------------------------------------------------------------------------------------------- */

static int by_inner_tid(const void *a, const void *b, void *threads)
{
	const struct seen_thread *t = threads;
	uint32_t x = t[*(const uint32_t *)a].wait.inner_tid, y = t[*(const uint32_t *)b].wait.inner_tid;
	return (x > y) - (x < y);
}

static struct seen_thread *seen_with_id(struct threads_capture *c, const uint32_t *order, int64_t id)
{
	size_t low = 0, high = c->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (c->threads[order[middle]].wait.inner_tid < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->count && c->threads[order[low]].wait.inner_tid == id ? &c->threads[order[low]] : NULL;
}

/* Of each thread the last stack is its own: those read asleep are the last ones. */
static void give_stacks(struct threads_capture *c)
{
	uint32_t *order = mem_calloc(c->count + 1, sizeof *order);
	for (uint32_t i = 0; i < c->count; i++)
		order[i] = i;
	if (c->count)
		qsort_r(order, c->count, sizeof *order, by_inner_tid, c->threads);
	for (size_t i = 0; i < c->stacks.sample_count; i++) {
		const struct capture_sample *x = &c->stacks.samples[i];
		struct seen_thread *t = x->thread < c->stacks.thread_count ? seen_with_id(c, order, c->stacks.threads[x->thread].tid) : NULL;
		if (!t)
			continue;
		t->stack = x->stack;
		if (t->witness == STACK_NOT_READ)
			t->witness = STACK_SAMPLED;
	}
	free(order);
}

static void threads_session_tick(struct attached_session *s, bool last)
{
	struct threads_own *o = threads_session_own(s);
	if (!last)
		take_running_samples(s);
	if (last || attached_session_may_ask(s))
		cpu_collect_flush(o->collect, attached_session_resolve, s);
	if (!last)
		return;
	cpu_collect_finish(o->collect);
	give_stacks(&o->capture);
}

static void threads_session_take(struct attached_session *s)
{
	struct threads_own *o = threads_session_own(s);
	if (o->perf) {
		perf_pump_stop(o->pump);
		s->helper_cpu_ns += perf_pump_cpu_ns(o->pump);
		limits_note_stall(&s->facts.limits, perf_pump_stalled_ns(o->pump));
	}
	perf_pump_free(o->pump);
	perf_sampler_close(o->perf);
	cpu_collect_free(o->collect);
	o->pump = NULL;
	o->perf = NULL;
	o->collect = NULL;
	if (s->unattached.reason == REASON_NativeAOT)
		outside_names_note_compiled(s->unattached.reason, &o->capture.stacks, &s->facts);
	else if (s->unattached.reason)
		limits_note(&s->facts.limits, "names", -1, -1,
			    "The library could not be attached (%s: %s): method names were read from the process's memory, source lines are missing.",
			    s->unattached.reason, s->unattached.message);
	if (o->capture.full)
		limits_note(&s->facts.limits, "threads", THREAD_WAITS_MAX, -1,
			    "The process has more threads than are looked at: the others are not in this report.");
	if (o->left_out)
		limits_note(&s->facts.limits, "stacks", STACKS_MAX, (int64_t)o->capture.count,
			    "The %s of %zu %s not read: of those this report has the kernel's figures only.",
			    size_text_plural((double)o->left_out, "stack", "stacks"), o->left_out,
			    size_text_plural((double)o->left_out, "thread was", "threads were"));
}

static bool threads_session_any(const struct attached_session *s)
{
	const struct threads_own *o = threads_session_own(s);
	return o->paired && o->capture.count > 0;
}

static int threads_session_report(struct attached_session *s, struct report_result *out, struct err *e)
{
	return threads_report_write(&threads_session_own(s)->capture, &s->facts, s->q->spec, s->q->context, s->q->out_dirfd, out, e);
}

static void threads_session_fini(struct attached_session *s)
{
	struct threads_own *o = threads_session_own(s);
	perf_pump_free(o->pump);
	perf_sampler_close(o->perf);
	cpu_collect_free(o->collect);
	threads_look_fini(&o->first);
	threads_capture_fini(&o->capture);
	outside_names_free(o->outside);
	if (o->memory_open)
		process_memory_close(&o->memory);
}

const struct session_profiler threads_session = {
	.name = "Threads",
	.without = TARGET_WITHOUT_LIBRARY | TARGET_WITHOUT_RUNTIME,
	.nothing = {REASON_ProcessExited, "the process had no threads any more at the second look"},
	.own_size = sizeof(struct threads_own),
	.prepare = threads_session_prepare,
	.start = threads_session_start,
	.tick = threads_session_tick,
	.stop = threads_session_stop,
	.take = threads_session_take,
	.any = threads_session_any,
	.report = threads_session_report,
	.fini = threads_session_fini,
};
