#include "agent/profilers/waits/wait_session.h"

#include "agent/locks/thread_wait.h"
#include "agent/perf/perf_pump.h"
#include "agent/profilers/waits/syscall_sites.h"
#include "agent/profilers/waits/wait_kind.h"
#include "agent/profilers/waits/wait_report.h"
#include "agent/stacks/cpu_account.h"
#include "agent/stacks/cpu_collect.h"
#include "agent/stacks/sleeping_stack.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define RATE_MS 200
#define ALL_BELOW 1250 /* switches a second: of so many each has its stack */
#define STACKS_A_SECOND 1000
#define LOOK_MS 100
#define STACKS_MAX 2000 /* of threads that sleep, at each end of the session */
#define STACKS_A_LOOK 50 /* meanwhile, where not all switches have one */
#define LONG_NS 50000000

struct wait_own {
	struct wait_capture capture;
	struct cpu_account account;
	struct process_memory memory;
	bool memory_open;
	struct lock_watch locks;
	struct syscall_sites sites;
	struct perf_sampler *perf;
	struct perf_pump *pump;
	struct cpu_collect *collect;
	struct thread_wait *begin; /* threads at the beginning, by id */
	size_t begin_count;
	int timer_fd, events_fd;
	bool fds_open, left_group, full;
};

static struct wait_own *wait_session_own(const struct attached_session *s)
{
	return s->own;
}

/* before the attach ------------------------------------------------------------------------------------------------ */

static uint64_t count_switches(int proc_fd)
{
	AUTO_FREE struct thread_wait *list = NULL;
	uint64_t sum = 0;
	bool more;
	ssize_t count = thread_wait_list(proc_fd, &list, &more);
	for (ssize_t i = 0; i < count; i++)
		sum += list[i].switches;
	return sum;
}

/* One of how many switches gets a stack: an odd number, since threads that take turns would else always show the same one. */
static uint64_t choose_period(int proc_fd)
{
	int64_t from_ns = clock_mono_ns();
	uint64_t before = count_switches(proc_fd);
	clock_sleep_until_ms(clock_mono_ms() + RATE_MS);
	uint64_t after = count_switches(proc_fd);
	double seconds = (double)(clock_mono_ns() - from_ns) / 1e9, rate = after > before ? (double)(after - before) / seconds : 0;
	return rate <= ALL_BELOW ? 1 : (uint64_t)(rate / STACKS_A_SECOND) | 1;
}

static int open_switches(struct attached_session *s, struct err *e)
{
	struct wait_own *o = wait_session_own(s);
	o->capture.period = choose_period(s->proc_fd);
	const struct perf_sampler_options options = {.pid = s->q->target->pid, .proc_fd = s->proc_fd, .switches = o->capture.period, .stacks = true};
	o->perf = perf_sampler_open(&options, e);
	o->pump = o->perf ? perf_pump_start(o->perf, e) : NULL;
	return o->pump ? 0 : -1;
}

/* The pump's descriptor and a clock of our own in one. */
static int open_own_fd(struct attached_session *s, struct err *e)
{
	struct wait_own *o = wait_session_own(s);
	struct epoll_event pump = {.events = EPOLLIN, .data.u32 = 1}, timer = {.events = EPOLLIN};
	struct itimerspec each = {.it_interval.tv_nsec = LOOK_MS * 1000000, .it_value.tv_nsec = LOOK_MS * 1000000};
	o->events_fd = epoll_create1(EPOLL_CLOEXEC);
	o->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	o->fds_open = true;
	if (o->events_fd < 0 || o->timer_fd < 0 || timerfd_settime(o->timer_fd, 0, &each, NULL) < 0 ||
	    epoll_ctl(o->events_fd, EPOLL_CTL_ADD, perf_pump_fd(o->pump), &pump) < 0 || epoll_ctl(o->events_fd, EPOLL_CTL_ADD, o->timer_fd, &timer) < 0)
		return err_set_errno(e, errno, "watching context switches");
	s->own_fd = o->events_fd;
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
static void note_sleepers(struct attached_session *s)
{
	struct wait_own *o = wait_session_own(s);
	ssize_t count = thread_wait_list(s->proc_fd, &o->begin, &o->full);
	o->begin_count = count > 0 ? (size_t)count : 0;
	for (size_t i = 0; i < o->begin_count; i++)
		if (o->begin[i].state != 'R') {
			const struct wait_event asleep = {.kind = WAIT_EVENT_ASLEEP, .tid = (uint32_t)o->begin[i].tid, .time_ns = s->started_ns};
			wait_log_add(o->capture.log, &asleep);
		}
	o->capture.threads_begin = o->begin_count;
	o->capture.workers_begin = count_workers(o->begin, o->begin_count);
}

static int open_memory(struct attached_session *s, struct err *e)
{
	struct wait_own *o = wait_session_own(s);
	if (s->proc_fd < 0)
		return err_set_reason(e, ERR_DENIED, REASON_PerfEventsForbidden,
				      "Waits follows the kernel's context switches from outside: the agent needs the host's pid namespace (hostPID)");
	if (process_memory_open(&o->memory, s->proc_fd) < 0)
		return err_set_reason(e, ERR_DENIED, REASON_PermissionDenied, "the process's memory cannot be read: %s", strerror(errno));
	o->memory_open = true;
	return 0;
}

static int wait_session_prepare(struct attached_session *s, struct err *e)
{
	struct wait_own *o = wait_session_own(s);
	o->capture.log = wait_log_new();
	if (open_memory(s, e) < 0)
		return -1;
	cpu_account_init(&o->account, s->q->target);
	cpu_account_begin(&o->account);
	lock_watch_init(&o->locks, &o->memory, s->proc_fd);
	o->capture.locks_read = !o->locks.dac.why;
	STEP("start-perf");
	if (open_switches(s, e) < 0)
		return -1;
	s->started_ns = o->capture.started_ns = perf_sampler_started_ns(o->perf);
	const struct cpu_collect_options options = {
		.capture = &o->capture.stacks,
		.proc_fd = s->proc_fd,
		.same_ids = s->q->target->pid == s->q->target->inner_pid,
		.started_ns = s->started_ns,
		.max_depth = perf_sampler_max_depth(o->perf),
		.code = attached_session_ask_code,
		.code_ctx = s,
		.il = attached_session_ask_il,
		.il_ctx = s,
	};
	o->collect = cpu_collect_new(&options);
	cpu_collect_begin(o->collect);
	note_sleepers(s);
	return open_own_fd(s, e);
}

/* stacks ----------------------------------------------------------------------------------------------------------- */

static void on_switch_sample(void *ctx, const struct perf_sample *x)
{
	struct wait_own *o = ctx;
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
	cpu_collect_thread_name(((struct wait_own *)ctx)->collect, tid, comm);
}

static void look_at_sleeper(struct attached_session *s, const struct thread_wait *t, uint8_t *buffer)
{
	struct wait_own *o = wait_session_own(s);
	struct wait_event stack = {.kind = WAIT_EVENT_STACK, .tid = (uint32_t)t->tid, .time_ns = clock_mono_ns()};
	explicit_bzero(buffer, SLEEPING_STACK_BYTES);
	if (!sleeping_stack_take(o->collect, &o->memory, t, stack.time_ns, buffer)) {
		o->capture.stacks_unread++;
		return;
	}
	stack.lock = lock_watch_on_stack(&o->locks, buffer, SLEEPING_STACK_BYTES);
	wait_log_add(o->capture.log, &stack);
	if (cpu_collect_wants_flush(o->collect))
		cpu_collect_flush(o->collect, attached_session_resolve, s);
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

static const struct thread_wait *thread_at_begin(const struct wait_own *o, pid_t tid)
{
	return thread_in(o->begin, o->begin_count, tid);
}

/* The stacks of those that have slept since the beginning: they may wake later, and then nothing tells where they were. */
static int wait_session_start(struct attached_session *s, struct err *e)
{
	struct wait_own *o = wait_session_own(s);
	AUTO_FREE struct thread_wait *now = NULL;
	bool more;
	size_t taken = 0;
	(void)e;
	STEP("first-look");
	lock_watch_look(&o->locks, clock_mono_ns());
	ssize_t count = thread_wait_list(s->proc_fd, &now, &more);
	uint8_t *buffer = sleeping_stack_buffer_new();
	for (ssize_t i = 0; i < count && taken < STACKS_MAX; i++) {
		const struct thread_wait *was = thread_at_begin(o, now[i].tid);
		if (!was || was->state == 'R' || was->switches != now[i].switches)
			continue;
		look_at_sleeper(s, &now[i], buffer);
		taken++;
	}
	sleeping_stack_buffer_free(buffer);
	return 0;
}

/* Threads get their numbers while they are there: what they are called is asked of the kernel. */
static void number_threads(struct wait_own *o)
{
	struct wait_log *l = o->capture.log;
	for (size_t i = 0; i < l->thread_count; i++) {
		if (l->threads[i].asked)
			continue;
		l->threads[i].asked = true;
		l->threads[i].index = cpu_collect_thread(o->collect, l->threads[i].tid);
	}
}

static void drain_switches(struct attached_session *s)
{
	struct wait_own *o = wait_session_own(s);
	AUTO_FREE struct perf_switch *list = NULL;
	int64_t until_ns;
	size_t count = perf_pump_take_switches(o->pump, &list, &until_ns);
	perf_pump_take(o->pump, on_switch_sample, on_switch_comm, o);
	for (size_t i = 0; i < count; i++) {
		const struct perf_switch *x = &list[i];
		wait_log_add(o->capture.log, &(struct wait_event){.kind = x->out ? WAIT_EVENT_OUT : WAIT_EVENT_IN, .tid = x->tid, .time_ns = x->time_ns,
								  .runnable = x->runnable});
	}
	wait_log_settle(o->capture.log, until_ns);
	number_threads(o);
	if (cpu_collect_wants_flush(o->collect))
		cpu_collect_flush(o->collect, attached_session_resolve, s);
	s->samples = (int64_t)cpu_collect_sample_count(o->collect);
	s->first_sample_ns = cpu_collect_first_sample_ns(o->collect);
}

/* Where only some switches have a stack, a long wait without one would be as likely as a short one: those are looked at while they last. */
static void look_at_long_sleepers(struct attached_session *s)
{
	struct wait_own *o = wait_session_own(s);
	const struct wait_log *l = o->capture.log;
	int64_t before_ns = l->settled_ns - LONG_NS;
	uint8_t *buffer = NULL;
	size_t taken = 0;
	for (size_t i = 0; i < l->thread_count && taken < STACKS_A_LOOK; i++) {
		struct thread_wait now;
		const struct wait_log_thread *t = &l->threads[i];
		if (!t->off || t->runnable || t->stack_ns || t->out_ns > before_ns || thread_wait_read(s->proc_fd, (pid_t)t->tid, &now) < 0)
			continue;
		buffer = buffer ? buffer : sleeping_stack_buffer_new();
		look_at_sleeper(s, &now, buffer);
		taken++;
	}
	if (buffer)
		sleeping_stack_buffer_free(buffer);
}

static void wait_session_readable(struct attached_session *s)
{
	struct wait_own *o = wait_session_own(s);
	uint64_t times;
	bool look = read(o->timer_fd, &times, sizeof times) == sizeof times && !s->stopped;
	if (look)
		lock_watch_look(&o->locks, clock_mono_ns());
	drain_switches(s);
	if (look && o->capture.period > 1)
		look_at_long_sleepers(s);
}

static void wait_session_tick(struct attached_session *s, bool last)
{
	struct wait_own *o = wait_session_own(s);
	if (!last)
		drain_switches(s);
	if (last || attached_session_may_ask(s))
		cpu_collect_flush(o->collect, attached_session_resolve, s);
	cpu_account_update(&o->account);
	if (last)
		cpu_collect_finish(o->collect);
}

/* the end ---------------------------------------------------------------------------------------------------------- */

/* Those that sleep at the end, and were not sampled as they fell asleep. */
static void look_at_last_sleepers(struct attached_session *s, const struct thread_wait *list, size_t count)
{
	struct wait_own *o = wait_session_own(s);
	uint8_t *buffer = sleeping_stack_buffer_new();
	size_t taken = 0;
	for (size_t i = 0; i < count && taken < STACKS_MAX; i++) {
		const struct wait_log_thread *t = wait_log_find(o->capture.log, (uint32_t)list[i].tid);
		if (!t || !t->off || t->runnable || t->stack_ns || list[i].state == 'R')
			continue;
		look_at_sleeper(s, &list[i], buffer);
		taken++;
	}
	sleeping_stack_buffer_free(buffer);
}

static void note_ended_threads(struct wait_log *l, const struct thread_wait *list, size_t count)
{
	for (size_t i = 0; i < l->thread_count; i++)
		if (l->threads[i].off && !thread_in(list, count, (pid_t)l->threads[i].tid))
			wait_log_ended(l, l->threads[i].tid);
}

static void note_threads_at_end(struct wait_own *o, const struct thread_wait *list, size_t count)
{
	o->capture.threads_end = count;
	o->capture.workers_end = count_workers(list, count);
	for (size_t i = 0; i < count; i++)
		o->capture.workers_new += wait_kind_is_pool_name(list[i].name) && !thread_at_begin(o, list[i].tid);
}

static int wait_session_stop(struct attached_session *s, struct err *e)
{
	struct wait_own *o = wait_session_own(s);
	AUTO_FREE struct thread_wait *list = NULL;
	bool more;
	(void)e;
	STEP("last-look");
	o->left_group = perf_sampler_left_group(o->perf);
	o->capture.ended_ns = clock_mono_ns();
	perf_sampler_stop(o->perf);
	perf_pump_stop(o->pump);
	drain_switches(s);
	wait_log_settle(o->capture.log, INT64_MAX);
	ssize_t count = thread_wait_list(s->proc_fd, &list, &more);
	if (count > 0) {
		note_ended_threads(o->capture.log, list, (size_t)count);
		note_threads_at_end(o, list, (size_t)count);
		look_at_last_sleepers(s, list, (size_t)count);
	}
	wait_log_finish(o->capture.log, o->capture.ended_ns);
	number_threads(o);
	s->samples = (int64_t)cpu_collect_sample_count(o->collect);
	return 0;
}

/* What the report therefore lacks. */
static void note_wait_limits(struct attached_session *s)
{
	struct wait_own *o = wait_session_own(s);
	const struct wait_capture *c = &o->capture;
	struct limits *l = &s->facts.limits;
	if (c->lost + c->dropped)
		limits_note(l, "records", -1, (int64_t)(c->lost + c->dropped),
			    "%llu records of context switches were lost: waits next to them are missing, or look longer than they were.",
			    (unsigned long long)(c->lost + c->dropped));
	if (o->left_group)
		limits_note(l, "group", -1, -1,
			    "The process was moved to another control group during the session: what it did afterwards is not in this report.");
	if (o->full || c->log->thread_count == WAIT_LOG_THREADS)
		limits_note(l, "threads", THREAD_WAITS_MAX, -1, "The process has more threads than are looked at: how the others wait is not in this report.");
	if (c->log->kept_none)
		limits_note(l, "waits", WAIT_LOG_WAITS, -1, "More waits were sampled than there is room for: the later ones are counted without their stacks.");
}

static void wait_session_take(struct attached_session *s)
{
	struct wait_own *o = wait_session_own(s);
	if (o->pump) {
		perf_pump_stop(o->pump);
		s->helper_cpu_ns += perf_pump_cpu_ns(o->pump);
		o->capture.lost = perf_sampler_stats(o->perf)->lost + perf_sampler_stats(o->perf)->malformed;
		o->capture.dropped = perf_pump_dropped(o->pump) + perf_pump_dropped_switches(o->pump);
	}
	perf_pump_free(o->pump);
	perf_sampler_close(o->perf);
	cpu_collect_free(o->collect);
	o->pump = NULL;
	o->perf = NULL;
	o->collect = NULL;
	o->capture.sightings = o->locks.sightings;
	o->capture.sighting_count = o->locks.sighting_count;
	o->capture.lock_looks = o->locks.looks;
	o->locks.sightings = NULL;
	cpu_account_report(&o->account, &o->capture.stacks);
	note_wait_limits(s);
	s->facts.cost.dropped_samples = (int64_t)(o->capture.lost + o->capture.dropped);
}

static bool wait_session_any(const struct attached_session *s)
{
	return wait_session_own(s)->capture.ended_ns > wait_session_own(s)->capture.started_ns;
}

static int wait_session_report(struct attached_session *s, struct report_result *out, struct err *e)
{
	struct wait_own *o = wait_session_own(s);
	session_facts_copy(&o->capture.stacks.facts, &s->facts);
	return wait_report_write(&o->capture, s->q->spec, s->q->context, s->q->out_dirfd, out, e);
}

static void wait_session_fini(struct attached_session *s)
{
	struct wait_own *o = wait_session_own(s);
	free(o->begin);
	lock_watch_fini(&o->locks);
	wait_capture_fini(&o->capture);
	if (o->fds_open) {
		close(o->timer_fd);
		close(o->events_fd);
	}
	if (o->memory_open)
		process_memory_close(&o->memory);
}

const struct session_profiler wait_session = {
	.name = "Waits",
	.nothing = {REASON_NoSamples, "the process's context switches were not followed"},
	.own_size = sizeof(struct wait_own),
	.prepare = wait_session_prepare,
	.start = wait_session_start,
	.readable = wait_session_readable,
	.tick = wait_session_tick,
	.stop = wait_session_stop,
	.take = wait_session_take,
	.any = wait_session_any,
	.report = wait_session_report,
	.fini = wait_session_fini,
};
