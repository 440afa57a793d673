#include "agent/profilers/waits/wait_numbers.h"

#include <math.h>

RULE_FIELDS(wait_numbers, WAIT_NUMBERS);

#define KIND(k) (1u << (k))

/* The place with most waiting of these kinds, of the pool's workers alone where `pool`; NULL. */
static const struct wait_place *top_place(const struct wait_analysis *a, unsigned kinds, bool pool)
{
	const struct wait_place *top = NULL;
	for (size_t i = 0; i < a->blocking_count; i++) {
		const struct wait_place *p = &a->places[i];
		double ns = pool ? p->pool_ns : p->ns;
		if (KIND(p->meaning.kind) & kinds && ns > 0 && (!top || ns > (pool ? top->pool_ns : top->ns)))
			top = p;
	}
	return top;
}

static double pool_threads(const struct wait_analysis *a, unsigned kinds)
{
	double ns = 0;
	for (size_t i = 0; i < a->blocking_count; i++)
		ns += KIND(a->places[i].meaning.kind) & kinds ? a->places[i].pool_ns : 0;
	return wait_analysis_threads(a, ns);
}

static void set_names(const struct wait_analysis *a, const struct wait_place *p, struct rule_text *place, struct rule_text *what)
{
	if (!p)
		return;
	rules_set_text(place, wait_analysis_place(a, p));
	if (what)
		rules_set_text(what, p->meaning.what);
}

static void set_lock(const struct wait_analysis *a, struct wait_numbers *out)
{
	const struct wait_place *p = top_place(a, KIND(WAIT_KIND_LOCK), false);
	out->lock_threads = wait_analysis_threads(a, a->by_kind[WAIT_KIND_LOCK]);
	out->lock_percent = wait_analysis_percent(a, a->by_kind[WAIT_KIND_LOCK]);
	set_names(a, p, &out->lock_place, &out->lock_what);
	if (!p)
		return;
	out->lock_place_threads = wait_analysis_threads(a, p->ns);
	out->lock_waiters = p->threads;
	out->lock_per_second = a->seconds > 0 ? p->count / a->seconds : 0;
	out->lock_longest_ms = (double)p->longest_ns / 1e6;
	out->lock_whole = p->whole;
	out->sightings = p->sightings;
	if (p->holder != CPU_NO_METHOD)
		rules_set_text(&out->lock_holder, a->base.methods[p->holder].name);
	rules_set_text(&out->lock_holder_what, p->holder_what);
}

static void set_pool(const struct wait_analysis *a, struct wait_numbers *out)
{
	const unsigned io = KIND(WAIT_KIND_SOCKET) | KIND(WAIT_KIND_FILE);
	const unsigned all = ~(KIND(WAIT_KIND_CPU) | KIND(WAIT_KIND_FAULT) | KIND(WAIT_KIND_RUNTIME));
	const struct wait_place *p = top_place(a, all, true);
	out->task_pool = pool_threads(a, KIND(WAIT_KIND_TASK));
	out->io_pool = pool_threads(a, io);
	out->sleep_pool = pool_threads(a, KIND(WAIT_KIND_SLEEP));
	out->event_pool = pool_threads(a, KIND(WAIT_KIND_EVENT));
	out->runtime_pool = pool_threads(a, KIND(WAIT_KIND_RUNTIME));
	set_names(a, top_place(a, KIND(WAIT_KIND_TASK), true), &out->task_place, NULL);
	set_names(a, top_place(a, io, true), &out->io_place, &out->io_what);
	set_names(a, top_place(a, KIND(WAIT_KIND_SLEEP), true), &out->sleep_place, NULL);
	set_names(a, top_place(a, KIND(WAIT_KIND_EVENT), true), &out->event_place, &out->event_what);
	set_names(a, top_place(a, KIND(WAIT_KIND_RUNTIME), true), &out->runtime_place, NULL);
	set_names(a, p, &out->pool_place, &out->pool_what);
	out->workers = a->pool.workers;
	out->workers_begin = (double)a->capture->workers_begin;
	out->workers_end = (double)a->capture->workers_end;
	out->workers_new = (double)a->capture->workers_new;
	out->workers_blocked = a->pool.blocked;
	out->workers_still = a->pool.still;
	out->pool_blocked_percent = a->pool.alive_ns > 0 ? fmin(100, 100 * a->pool.blocked_ns / a->pool.alive_ns) : 0;
	out->pool_idle_percent = a->pool.alive_ns > 0 ? fmin(100, 100 * a->pool.idle_ns / a->pool.alive_ns) : 0;
	const struct pool_sights *q = &a->capture->queue;
	if (q->looks) {
		out->queue_looks = (double)q->looks;
		out->queue_least = (double)q->least;
		out->queue_most = (double)q->most;
		out->queue_mean = round(q->sum / (double)q->looks);
	}
	out->pool_place_percent = p && a->pool.blocked_ns > 0 ? fmin(100, 100 * p->pool_ns / a->pool.blocked_ns) : 0;
}

static void set_cpu(const struct wait_analysis *a, struct wait_numbers *out)
{
	const struct cpu_capture *c = &a->capture->stacks;
	const struct session_facts *f = &c->facts;
	double seconds = a->seconds > 0 ? a->seconds : 1;
	bool limited = c->cpu_limit_millicores > 0 && (double)c->cpu_limit_millicores < (double)c->node_cpus * 1000;
	out->preempted_threads = wait_analysis_threads(a, a->by_kind[WAIT_KIND_CPU]);
	if (c->node_cpus > 0)
		out->cpus_allowed = limited ? (double)c->cpu_limit_millicores / 1000 : (double)c->node_cpus;
	if (c->process_cpu_ns >= 0)
		out->cpus_used = (double)c->process_cpu_ns / 1e9 / seconds;
	if (f->run_delay_ns >= 0) {
		out->run_delay_threads = (double)f->run_delay_ns / 1e9 / seconds;
		if (c->process_cpu_ns >= 0 && f->run_delay_ns + c->process_cpu_ns > 0)
			out->cpu_wait_percent = 100 * (double)f->run_delay_ns / (double)(f->run_delay_ns + c->process_cpu_ns);
	}
	if (f->throttled_ns >= 0)
		out->throttled_seconds = (double)f->throttled_ns / 1e9;
	if (f->node_pressure_ns >= 0)
		out->node_pressure_percent = fmin(100, 100 * (double)f->node_pressure_ns / 1e9 / seconds);
}

void wait_numbers_of(const struct wait_analysis *a, struct wait_numbers *out)
{
	const struct wait_place *top = top_place(a, ~KIND(WAIT_KIND_CPU), false);
	double all = a->waiting_ns + a->idle_ns + a->unseen_ns;
	rules_clear(&wait_numbers_fields, out);
	out->seconds = a->seconds;
	out->threads = (double)a->capture->threads_end;
	out->switches_per_second = a->seconds > 0 ? (double)a->switches / a->seconds : 0;
	out->period = (double)a->capture->period;
	out->waits = (double)a->waits;
	out->waiting_threads = wait_analysis_threads(a, a->waiting_ns);
	out->idle_threads = wait_analysis_threads(a, a->idle_ns);
	out->unseen_percent = all > 0 ? 100 * a->unseen_ns / all : 0;
	out->cut_percent = wait_analysis_percent(a, a->cut_ns);
	out->top_threads = top ? wait_analysis_threads(a, top->ns) : 0;
	out->top_percent = top ? wait_analysis_percent(a, top->ns) : 0;
	set_names(a, top, &out->top_place, &out->top_what);
	set_lock(a, out);
	set_pool(a, out);
	const struct wait_place *console = top_place(a, KIND(WAIT_KIND_CONSOLE), false);
	out->console_threads = wait_analysis_threads(a, a->by_kind[WAIT_KIND_CONSOLE]);
	set_names(a, console, &out->console_place, NULL);
	out->runtime_threads = wait_analysis_threads(a, a->by_kind[WAIT_KIND_RUNTIME]);
	set_cpu(a, out);
}

#define STACKS ENGINE_BIT(ENGINE_SLEEPERS)

const struct rule_engines wait_engines[] = {
	{"ThreadPoolStarvation", STACKS},
	{"LockContention", STACKS | ENGINE_BIT(ENGINE_MONITORS)},
	{"SyncOverAsync", STACKS},
	{"SynchronousIO", STACKS},
	{"SleepInPool", STACKS},
	{"EventWaitInPool", STACKS},
	{"ConsoleWrites", STACKS},
	{NULL, 0},
};
