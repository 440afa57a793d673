#include "agent/waits/wait_follow.h"

#include "agent/host/refused_call.h"
#include "agent/locks/thread_wait.h"
#include "agent/waits/wait_kind.h"
#include "agent/waits/wait_pace.h"
#include "agent/stacks/sleeping_stack.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LOOK_MS 100 /* between looks at the locks, and at what has been recorded */
#define STACKS_MAX 2000 /* of threads that sleep, at each end of the session */
#define MISSING_PART 100 /* of a window's records may be missing */

/* before the attach ------------------------------------------------------------------------------------------------ */

/* Looks need no perf events, only what reading memory needs anyway. */
static bool may_look(const struct wait_follow *o)
{
	struct thread_wait main;
	AUTO_FD int task_fd = openat(o->session->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return task_fd >= 0 && thread_wait_call(task_fd, o->session->q->target->pid, &main) == 0;
}

static struct wait_plan plan_switches(const struct wait_follow *o)
{
	const struct session_request *q = o->session->q;
	int64_t duration_ns = q->spec->duration_seconds * 1000000000;
	if (o->looks_only)
		return wait_plan_looks_only();
	return q->launched ? wait_plan_blind(duration_ns) : wait_pace_plan(q->target->pid, o->session->proc_fd, duration_ns, o->single_waits);
}

/* Where there are windows, the first one comes later: the kernel is only asked whether it lets us. */
static int open_switches(struct wait_follow *o, struct err *e)
{
	o->record = (struct wait_record){.plan = plan_switches(o), .pid = o->session->q->target->pid, .proc_fd = o->session->proc_fd,
					.epoll_fd = o->events_fd, .duration_ns = o->session->q->spec->duration_seconds * 1000000000};
	o->record.random = o->sleepers.random = (uint64_t)clock_mono_ns() | 1;
	o->capture.period = o->record.plan.period;
	if (o->looks_only)
		return 0;
	if (wait_record_open(&o->record, &o->capture.refused) < 0) {
		if (!o->capture.refused.reason || strcmp(o->capture.refused.reason, REASON_PerfEventsForbidden) != 0 || !may_look(o)) {
			if (e)
				*e = o->capture.refused;
			return -1;
		}
		o->record.plan = wait_plan_looks_only();
		o->capture.period = o->record.plan.period;
		o->counted = wait_pace_switches(o->session->proc_fd);
		return 0;
	}
	if (!o->record.plan.looks) {
		o->started_ns = o->record.opened_ns;
		return 0;
	}
	wait_record_drop(&o->record);
	o->record.covered_ns = 0;
	o->record.lost = o->record.dropped = 0;
	return 0;
}

/* A clock of our own, and what is recorded, in one. */
static int open_own_fd(struct wait_follow *o, struct err *e)
{
	struct epoll_event timer = {.events = EPOLLIN};
	o->events_fd = epoll_create1(EPOLL_CLOEXEC);
	o->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	o->fds_open = true;
	if (o->timer_fd < 0)
		return refused_call(e, errno, "timerfd_create", "watching context switches");
	if (timerfd_settime(o->timer_fd, 0, &(struct itimerspec){0}, NULL) < 0)
		return refused_call(e, errno, "timerfd_settime", "watching context switches");
	if (o->events_fd < 0 || epoll_ctl(o->events_fd, EPOLL_CTL_ADD, o->timer_fd, &timer) < 0)
		return err_set_errno(e, errno, "watching context switches");
	return 0;
}

static size_t count_workers(const struct thread_wait *list, size_t count)
{
	size_t workers = 0;
	for (size_t i = 0; i < count; i++)
		workers += wait_kind_is_pool_name(list[i].name);
	return workers;
}

/* Who sleeps now has slept since the beginning, unless its switches say otherwise. */
static void note_sleepers(struct wait_follow *o)
{
	ssize_t count = thread_wait_list(o->session->proc_fd, &o->begin, &o->full);
	o->begin_count = count > 0 ? (size_t)count : 0;
	for (size_t i = 0; i < o->begin_count; i++)
		if (o->begin[i].state != 'R' && !o->record.plan.looks) {
			const struct wait_event asleep = {.kind = WAIT_EVENT_ASLEEP, .tid = (uint32_t)o->begin[i].tid, .time_ns = o->started_ns};
			wait_log_add(o->capture.log, &asleep);
		}
	o->capture.threads_begin = o->begin_count;
	o->capture.workers_begin = count_workers(o->begin, o->begin_count);
}

static int open_memory(struct wait_follow *o, struct err *e)
{
	if (o->session->proc_fd < 0)
		return err_set_reason(e, ERR_DENIED, REASON_PermissionDenied,
				      "threads are followed from outside: the agent needs the host's pid namespace (hostPID)");
	if (process_memory_open(&o->memory, o->session->proc_fd) < 0)
		return err_set_reason(e, ERR_DENIED, REASON_PermissionDenied, "the process's memory cannot be read: %s", strerror(errno));
	o->memory_open = true;
	o->memory.budget = &o->budget;
	return 0;
}

static void flush_if_full(void *follow)
{
	struct wait_follow *o = follow;
	if (cpu_collect_wants_flush(o->collect))
		cpu_collect_flush(o->collect, attached_session_resolve, o->session);
}

static void begin_collecting(struct wait_follow *o)
{
	const struct cpu_collect_options options = {
		.capture = &o->capture.stacks,
		.proc_fd = o->session->proc_fd,
		.same_ids = o->session->q->target->pid == o->session->q->target->inner_pid,
		.started_ns = o->started_ns,
		.max_depth = o->record.max_depth,
		.code = attached_session_ask_code,
		.code_ctx = o->session,
		.il = attached_session_ask_il,
		.il_ctx = o->session,
	};
	o->capture.started_ns = o->started_ns;
	o->capture.log->looks = o->record.plan.looks;
	o->collect = cpu_collect_new(&options);
	cpu_collect_begin(o->collect);
	o->sleepers.proc_fd = o->session->proc_fd;
	o->sleepers.memory = &o->memory;
	o->sleepers.collect = o->collect;
	o->sleepers.locks = &o->locks;
	o->sleepers.taken = flush_if_full;
	o->sleepers.ctx = o;
	o->sleepers.starts = o->session->q->launched || o->session->q->start;
	wait_looks_init(&o->looks, o->capture.log, o->started_ns);
}

int wait_follow_prepare(struct wait_follow *o, struct attached_session *s, struct err *e)
{
	o->session = s;
	o->capture.log = wait_log_new();
	if (open_memory(o, e) < 0)
		return -1;
	cpu_account_init(&o->account, o->session->q->target);
	cpu_account_begin(&o->account);
	managed_watch_init(&o->managed, &o->memory, s->proc_fd, &o->locks, !engine_lacks(&s->facts.engines, ENGINE_LOCKS));
	lock_watch_init(&o->locks, &o->memory, s->proc_fd, &o->managed.runtime.contract, engine_lacks(&s->facts.engines, ENGINE_MONITORS));
	o->capture.locks_read = !o->locks.unread;
	o->database = (struct database_watch){&o->locks, o->session->proc_fd, 0};
	pool_watch_init(&o->pool, &o->memory, s->proc_fd, !engine_lacks(&s->facts.engines, ENGINE_POOL_QUEUE));
	STEP("start-perf");
	if (open_own_fd(o, e) < 0 || open_switches(o, e) < 0)
		return -1;
	if (o->started_ns)
		begin_collecting(o);
	note_sleepers(o);
	return 0;
}

/* stacks ----------------------------------------------------------------------------------------------------------- */

static void on_switch_sample(void *ctx, const struct perf_sample *x)
{
	struct wait_follow *o = ctx;
	const struct wait_event stack = {
		.kind = WAIT_EVENT_STACK,
		.tid = x->tid,
		.time_ns = x->time_ns,
		.lock = lock_watch_on_stack(&o->locks, x->stack, x->stack_bytes),
		.fault = x->has_registers && !syscall_sites_has(&o->sites, &o->memory, x->registers.ip),
	};
	struct perf_sample user = *x;
	if (!x->has_registers) /* its memory is gone: it ends */
		return;
	user.in_kernel = false; /* all of them are */
	wait_log_add(o->capture.log, &stack);
	cpu_collect_perf_sample(o->collect, &user);
}

static void on_switch_comm(void *ctx, uint32_t tid, const char *comm)
{
	cpu_collect_thread_name(((struct wait_follow *)ctx)->collect, tid, comm);
}

static void look_at_sleeper(struct wait_follow *o, const struct thread_wait *t)
{
	struct wait_event stack;
	if (!wait_sleepers_take(&o->sleepers, t, SLEEPING_STACK_BYTES, &stack)) {
		o->capture.stacks_unread++;
		return;
	}
	wait_log_add(o->capture.log, &stack);
}

/* Of a list in the order of ids. */
static const struct thread_wait *thread_in(const struct thread_wait *list, size_t count, pid_t tid)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (list[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && list[low].tid == tid ? &list[low] : NULL;
}

static const struct thread_wait *thread_at_begin(const struct wait_follow *o, pid_t tid)
{
	return thread_in(o->begin, o->begin_count, tid);
}

/* The stacks of those that have slept since the beginning: they may wake later, and then nothing tells where they were. */
static void look_at_first_sleepers(struct wait_follow *o)
{
	AUTO_FREE struct thread_wait *now = NULL;
	bool more;
	size_t taken = 0;
	ssize_t count = thread_wait_list(o->session->proc_fd, &now, &more);
	for (ssize_t i = 0; i < count && taken < STACKS_MAX; i++) {
		const struct thread_wait *was = thread_at_begin(o, now[i].tid);
		if (!was || was->state == 'R' || was->switches != now[i].switches)
			continue;
		look_at_sleeper(o, &now[i]);
		taken++;
	}
}

static void set_clock(struct wait_follow *o)
{
	int64_t now_ns = clock_mono_ns(), next_ns = now_ns + LOOK_MS * 1000000;
	if (o->record.plan.looks && o->sleepers.next_ns < next_ns)
		next_ns = o->sleepers.next_ns;
	if (o->record.plan.looks && o->record.next_ns && o->record.next_ns < next_ns)
		next_ns = o->record.next_ns;
	int64_t wait_ns = next_ns > now_ns ? next_ns - now_ns : 1;
	struct itimerspec once = {.it_value = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000}};
	timerfd_settime(o->timer_fd, 0, &once, NULL);
}

static void look_at_locks_and_pool(struct wait_follow *o)
{
	work_budget_begin_anew(&o->budget, WORK_LOCKS);
	lock_watch_look(&o->locks, clock_mono_ns());
	managed_watch_look(&o->managed, clock_mono_ns());
	database_watch_look(&o->database, clock_mono_ns());
	pool_watch_look(&o->pool, clock_mono_ns());
	work_budget_end(&o->budget);
}

void wait_follow_start(struct wait_follow *o, int64_t started_ns)
{
	STEP("first-look");
	if (!o->started_ns)
		o->started_ns = started_ns;
	if (!o->collect)
		begin_collecting(o);
	look_at_locks_and_pool(o);
	if (o->record.plan.looks)
		wait_sleepers_look(&o->sleepers, &o->looks, clock_mono_ns());
	else
		look_at_first_sleepers(o);
	set_clock(o);
}

/* Threads get their numbers while they are there: what they are called is asked of the kernel. */
static void number_threads(struct wait_follow *o)
{
	struct wait_log *l = o->capture.log;
	for (size_t i = 0; i < l->thread_count; i++) {
		if (l->threads[i].asked)
			continue;
		l->threads[i].asked = true;
		l->threads[i].index = cpu_collect_thread(o->collect, l->threads[i].tid);
	}
}

static void drain_switches(struct wait_follow *o)
{
	o->capture.log->opened_ns = o->record.opened_ns;
	wait_record_take(&o->record, o->capture.log, on_switch_sample, on_switch_comm, o);
	number_threads(o);
	flush_if_full(o);
}

/* A window is whole, or next to it. */
static void note_window(struct wait_follow *o, int64_t to_ns)
{
	struct wait_capture *c = &o->capture;
	uint64_t switches = wait_log_switches(c->log), recorded = switches - o->switches;
	o->switches = switches;
	if (o->record.perf)
		c->period = o->record.plan.period;
	if (!o->record.perf || perf_pump_stalled_ns(o->record.pump) > 0 || o->record.missing * MISSING_PART > recorded)
		return;
	GROW(c->windows, c->window_count, c->window_cap);
	c->windows[c->window_count++] = (struct wait_window){o->record.opened_ns, to_ns};
}

/* Where all has been recorded until now, looks go on from there. */
static void close_window(struct wait_follow *o)
{
	struct wait_log *l = o->capture.log;
	wait_record_close(&o->record);
	int64_t now_ns = clock_mono_ns();
	drain_switches(o);
	wait_log_settle(l, INT64_MAX);
	if (!l->looks) {
		wait_looks_init(&o->looks, l, now_ns);
		wait_sleepers_look(&o->sleepers, &o->looks, now_ns);
		wait_looks_adopt(&o->looks);
	}
	wait_log_add(l, &(struct wait_event){.kind = WAIT_EVENT_PAUSE, .time_ns = now_ns});
	wait_log_settle(l, INT64_MAX);
	note_window(o, now_ns);
	wait_record_drop(&o->record);
	if (l->looks)
		return;
	l->looks = true;
	o->capture.looked_from_ns = now_ns;
	o->capture.switches_before_looks = o->switches;
}

/* A process may do much more than it did when the session was planned. */
static void keep_pace(struct wait_follow *o, int64_t now_ns)
{
	struct wait_plan plan;
	if (!wait_record_outgrown(&o->record, now_ns, &plan))
		return;
	close_window(o);
	o->record.plan = plan;
}

void wait_follow_readable(struct wait_follow *o)
{
	uint64_t times;
	int64_t now_ns = clock_mono_ns();
	bool timer = read(o->timer_fd, &times, sizeof times) == sizeof times;
	if (timer && !o->session->stopped)
		look_at_locks_and_pool(o);
	if (timer && !o->session->stopped && o->record.plan.looks)
		wait_sleepers_look(&o->sleepers, &o->looks, now_ns);
	if (o->record.plan.looks && wait_record_step(&o->record, now_ns))
		close_window(o);
	if (!timer || now_ns >= o->next_drain_ns) {
		drain_switches(o);
		keep_pace(o, now_ns);
		o->next_drain_ns = now_ns + LOOK_MS * 1000000;
	}
	if (timer)
		set_clock(o);
}

void wait_follow_look(struct wait_follow *o, int64_t now_ns)
{
	if (now_ns >= o->next_drain_ns) {
		work_budget_begin_anew(&o->budget, WORK_LOCKS);
		lock_watch_look(&o->locks, now_ns);
		work_budget_end(&o->budget);
		number_threads(o);
		o->next_drain_ns = now_ns + LOOK_MS * 1000000;
	}
	wait_sleepers_look(&o->sleepers, &o->looks, now_ns);
}

void wait_follow_tick(struct wait_follow *o, bool last)
{
	if (!last)
		drain_switches(o);
	if (last || attached_session_may_ask(o->session))
		cpu_collect_flush(o->collect, attached_session_resolve, o->session);
	cpu_account_update(&o->account);
	if (last)
		cpu_collect_finish(o->collect);
}

/* the end ---------------------------------------------------------------------------------------------------------- */

/* Those that sleep at the end, and were not sampled as they fell asleep. */
static void look_at_last_sleepers(struct wait_follow *o, const struct thread_wait *list, size_t count)
{
	size_t taken = 0;
	for (size_t i = 0; i < count && taken < STACKS_MAX; i++) {
		const struct wait_log_thread *t = wait_log_find(o->capture.log, (uint32_t)list[i].tid);
		if (!t || !t->off || t->runnable || t->stack_ns || list[i].state == 'R')
			continue;
		look_at_sleeper(o, &list[i]);
		taken++;
	}
}

static void note_ended_threads(struct wait_log *l, const struct thread_wait *list, size_t count)
{
	for (size_t i = 0; i < l->thread_count; i++)
		if (l->threads[i].off && !thread_in(list, count, (pid_t)l->threads[i].tid))
			wait_log_ended(l, l->threads[i].tid);
}

static void note_threads_at_end(struct wait_follow *o, const struct thread_wait *list, size_t count)
{
	o->capture.threads_end = count;
	o->capture.workers_end = count_workers(list, count);
	for (size_t i = 0; i < count; i++) {
		const struct thread_wait *was = thread_at_begin(o, list[i].tid);
		o->capture.workers_new += wait_kind_is_pool_name(list[i].name) && !was;
		if (was)
			wait_log_counted(o->capture.log, (uint32_t)list[i].tid, list[i].switches - was->switches);
	}
}

void wait_follow_stop(struct wait_follow *o)
{
	AUTO_FREE struct thread_wait *list = NULL;
	bool more;
	STEP("last-look");
	wait_record_close(&o->record);
	o->capture.ended_ns = clock_mono_ns();
	drain_switches(o);
	wait_log_settle(o->capture.log, INT64_MAX);
	note_window(o, o->capture.ended_ns);
	ssize_t count = thread_wait_list(o->session->proc_fd, &list, &more);
	if (count > 0) {
		note_ended_threads(o->capture.log, list, (size_t)count);
		note_threads_at_end(o, list, (size_t)count);
		if (!o->record.plan.looks)
			look_at_last_sleepers(o, list, (size_t)count);
	}
	if (o->capture.refused.reason) {
		uint64_t after = wait_pace_switches(o->session->proc_fd);
		o->capture.counted_switches = after > o->counted ? after - o->counted : 0;
	}
	wait_looks_finish(&o->looks, o->capture.ended_ns);
	wait_log_finish(o->capture.log, o->capture.ended_ns);
	number_threads(o);
}


void wait_follow_take(struct wait_follow *o)
{
	wait_record_drop(&o->record);
	o->session->helper_cpu_ns += o->record.helper_cpu_ns;
	o->capture.lost = o->record.lost;
	o->capture.dropped = o->record.dropped;
	o->capture.recorded_ns = o->record.covered_ns;
	o->capture.stalled_before_looks_ns = o->record.stalled_ns;
	o->capture.stalled_ns = o->looks.stalled_ns;
	o->capture.looks = o->looks.looks;
	o->capture.unseen_ns = o->looks.unseen_ns;
	cpu_collect_free(o->collect);
	o->collect = NULL;
	o->capture.sightings = o->locks.sightings;
	o->capture.sighting_count = o->locks.sighting_count;
	o->capture.lock_looks = o->locks.looks;
	o->locks.sightings = NULL;
	o->capture.queue = o->pool.sights;
	o->pool.sights = (struct pool_sights){0};
	cpu_account_report(&o->account, &o->capture.stacks);
	o->capture.left_group = o->record.left_group;
	o->capture.more_threads = o->full || o->sleepers.more;
}

void wait_follow_fini(struct wait_follow *o)
{
	free(o->begin);
	managed_watch_fini(&o->managed);
	lock_watch_fini(&o->locks);
	pool_watch_fini(&o->pool);
	wait_sleepers_fini(&o->sleepers);
	wait_looks_fini(&o->looks);
	wait_capture_fini(&o->capture);
	if (o->fds_open) {
		close(o->timer_fd);
		close(o->events_fd);
	}
	if (o->memory_open)
		process_memory_close(&o->memory);
}
