#include "agent/profilers/waits/wait_numbers.h"

#include "agent/report/phrase.h"
#include "agent/stacks/pool_phrase.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#include <math.h>
#include <string.h>

#define LEAST_SECONDS 1.0
#define LEAST_THREADS 0.5  /* at a time: less is everyday */
#define LEAST_PERCENT 15   /* of all waiting */
#define CONSOLE_THREADS 0.3
#define POOL_BLOCKED 90    /* percent of the workers' time */
#define POOL_IDLE 2        /* a pool in which somebody is free is not starved */
#define DELAY_PERCENT 20   /* of the time in which threads could run */
#define DELAY_THREADS 0.5
#define UNSEEN_MOST 20     /* percent of all waiting: with more, what is not seen may be anything */
#define NAME_CHARS 29 /* so that a headline holds it */
#define STACKS ENGINE_BIT(ENGINE_SLEEPERS)
#define QUEUE_LOOKS 3      /* at which items must have waited */

static const char *needs_waits(const void *numbers)
{
	const struct wait_numbers *n = numbers;
	if (n->seconds < LEAST_SECONDS)
		return "the session was shorter than a second";
	return n->unseen_percent > UNSEEN_MOST ? "of too much of the waiting no stack was seen" : NULL;
}

static double waiting_percent(const struct wait_numbers *n, double threads)
{
	return n->waiting_threads > 0 ? 100 * threads / n->waiting_threads : 0;
}

static int score_of(const struct wait_numbers *n, double threads, double least)
{
	bool found = threads >= least && waiting_percent(n, threads) >= LEAST_PERCENT;
	return found ? rules_score(fmin(90, 20 + 0.7 * waiting_percent(n, threads))) : 0;
}

/* WaitOne may be compiled into its caller: what is left on the stack is the runtime's native code. */
static bool events_unclear(const struct wait_numbers *n)
{
	return rules_known(n->runtime_pool) && n->runtime_pool >= LEAST_THREADS && n->event_pool < n->runtime_pool;
}

static const char *needs_events(const void *numbers)
{
	const struct wait_numbers *n = numbers;
	if (events_unclear(n) && (score_of(n, n->runtime_pool, LEAST_THREADS) == 0 || !n->runtime_place.text[0]))
		return "workers wait in native code of the runtime, and whether that is for an event (WaitOne) cannot be told";
	return needs_waits(numbers);
}

static const char *needs_delay(const void *numbers)
{
	const struct wait_numbers *n = numbers;
	if (n->seconds < LEAST_SECONDS)
		return "the session was shorter than a second";
	return rules_known(n->cpu_wait_percent) ? NULL : "the kernel does not tell how long threads waited for a CPU";
}

/* The name of a place, short enough for a headline. */
static const char *short_place(const struct rule_text *name, struct buf *out)
{
	buf_reset(out);
	method_name_shorten(name->text[0] ? name->text : "code of .NET", NAME_CHARS, out);
	return buf_str(out);
}

/* the pool --------------------------------------------------------------------------------------------------------- */

/* Items were in the pool's queue at each of several looks. */
static bool work_waits(const struct wait_numbers *n)
{
	return n->queue_looks >= QUEUE_LOOKS && n->queue_least >= 1;
}

/* The pool lets no more workers run than it finds useful: beside items that wait some have none to do, and all that run block. */
static bool held_back(const struct wait_numbers *n)
{
	double runs = 100 - n->pool_idle_percent;
	return n->workers >= 2 && work_waits(n) && n->queue_least >= n->workers && n->pool_idle_percent > POOL_IDLE && runs > 0 &&
	       n->pool_blocked_percent * 100 >= POOL_BLOCKED * runs;
}

/* The stacks say that all workers block; that work waits for them is said by the pool's queue, or by the runtime, which adds workers beyond one for each
 * CPU. */
static struct rule_score pool_starved(const void *numbers)
{
	const struct wait_numbers *n = numbers;
	bool found = n->workers >= 2 && n->pool_blocked_percent >= POOL_BLOCKED && n->pool_idle_percent <= POOL_IDLE;
	double cpus = rules_known(n->cpus_allowed) ? ceil(n->cpus_allowed) : 1;
	bool grows = n->workers_new >= 2 && n->workers_end > cpus;
	bool starved = grows || work_waits(n);
	if (!found && held_back(n))
		return (struct rule_score){45, 1};
	return (struct rule_score){found ? (starved ? 98 : 45) : 0, starved ? 2 : 1};
}

static void say_queue(const struct wait_numbers *n, struct buf *out)
{
	if (n->queue_looks > 0)
		buf_printf(out, "%.0f to %.0f %s waited in the pool's queue at %.0f %s", n->queue_least, n->queue_most,
			   size_text_plural(n->queue_most, "item", "items"), n->queue_looks, size_text_plural(n->queue_looks, "look", "looks"));
	else
		buf_puts(out, "the length of the pool's queue was not measured");
}

static void says_pool_starved(const void *numbers, struct finding *out)
{
	const struct wait_numbers *n = numbers;
	AUTO_BUF struct buf place, queue;
	buf_init(&place, RULE_TEXT_BYTES * 2);
	buf_init(&queue, 160);
	say_queue(n, &queue);
	if (finding_excluded(out, "a starved thread pool",
			     "the pool's %.0f workers had no work for %.0f%% of their time, and blocked for %.0f%%", n->workers, n->pool_idle_percent,
			     n->pool_blocked_percent))
		return;
	if (out->state == FINDING_FOUND)
		pool_phrase_starved(n->workers_blocked, n->workers, n->pool_place.text, work_waits(n) ? n->queue_mean : 0, &place);
	if (out->state == FINDING_FOUND)
		finding_message(out, "%s", buf_str(&place));
	else if (held_back(n))
		finding_message(out, "The thread pool may be starved: %.0f items wait while it keeps workers idle", n->queue_mean);
	else
		finding_message(out, "All %.0f pool workers block, mostly in %s", n->workers, short_place(&n->pool_place, &place));
	finding_evidence(out,
			 "%.0f%% of the workers' time is blocked, %.0f%% of that in %s; %.1f%% is without work; %.0f workers at the beginning, %.0f at the "
			 "end, %.0f of them new; %s",
			 n->pool_blocked_percent, n->pool_place_percent, n->pool_what.text, n->pool_idle_percent, n->workers_begin, n->workers_end,
			 n->workers_new, buf_str(&queue));
	finding_place(out, n->pool_place.text);
}

/* What the workers call is told by their stacks, that they wait in it by the kernel's switches. */
static struct rule_score score_pool(const struct wait_numbers *n, double threads)
{
	return (struct rule_score){score_of(n, threads, LEAST_THREADS), 2};
}

static void say_pool(const struct wait_numbers *n, const char *excluded, const char *what, double threads, const struct rule_text *at, struct finding *out)
{
	AUTO_BUF struct buf place;
	buf_init(&place, RULE_TEXT_BYTES * 2);
	if (finding_excluded(out, excluded, "%.2f workers at a time, %.0f%% of all waiting", threads, waiting_percent(n, threads)))
		return;
	finding_message(out, "%s: %.1f pool %s at a time, in %s", what, threads, size_text_plural(threads, "worker", "workers"), short_place(at, &place));
	finding_evidence(out, "%.1f of %.0f workers wait so at a time, which is %.0f%% of all waiting", threads, n->workers, waiting_percent(n, threads));
	finding_place(out, at->text);
}

static struct rule_score blocks_on_tasks(const void *numbers)
{
	return score_pool(numbers, ((const struct wait_numbers *)numbers)->task_pool);
}

static void says_blocks_on_tasks(const void *numbers, struct finding *out)
{
	const struct wait_numbers *n = numbers;
	say_pool(n, "workers that block on tasks", "Sync over async", n->task_pool, &n->task_place, out);
}

static struct rule_score blocks_on_io(const void *numbers)
{
	return score_pool(numbers, ((const struct wait_numbers *)numbers)->io_pool);
}

/* A first line that names what is called, in place of what is wrong. */
static void say_caller(const char *what, double threads, const struct rule_text *at, struct finding *out)
{
	AUTO_BUF struct buf place;
	buf_init(&place, RULE_TEXT_BYTES * 2);
	method_name_shorten(at->text[0] ? at->text : "code of .NET", NAME_CHARS - 2, &place);
	finding_message(out, "%s blocks %.1f pool %s in %s", what, threads, size_text_plural(threads, "worker", "workers"), buf_str(&place));
}

static void says_blocks_on_io(const void *numbers, struct finding *out)
{
	const struct wait_numbers *n = numbers;
	say_pool(n, "workers that block in I/O", "Synchronous I/O", n->io_pool, &n->io_place, out);
	if (out->state != FINDING_EXCLUDED && strcmp(n->io_what.text, "another process") == 0)
		say_caller("Another process", n->io_pool, &n->io_place, out);
}

static struct rule_score sleeps_in_pool(const void *numbers)
{
	return score_pool(numbers, ((const struct wait_numbers *)numbers)->sleep_pool);
}

static void says_sleeps_in_pool(const void *numbers, struct finding *out)
{
	const struct wait_numbers *n = numbers;
	say_pool(n, "workers that sleep", "Thread.Sleep", n->sleep_pool, &n->sleep_place, out);
}

static struct rule_score waits_for_events(const void *numbers)
{
	const struct wait_numbers *n = numbers;
	if (events_unclear(n))
		return (struct rule_score){score_of(n, n->runtime_pool, LEAST_THREADS), 1};
	return score_pool(n, n->event_pool);
}

static void say_inside_runtime(const struct wait_numbers *n, struct finding *out)
{
	AUTO_BUF struct buf place;
	buf_init(&place, RULE_TEXT_BYTES * 2);
	method_name_shorten(n->runtime_place.text[0] ? n->runtime_place.text : "code of .NET", NAME_CHARS - 3, &place);
	finding_message(out, "%.1f pool %s for an event or the runtime in %s", n->runtime_pool,
			size_text_plural(n->runtime_pool, "worker waits", "workers wait"), buf_str(&place));
	finding_evidence(out, "%.1f of %.0f workers wait so at a time, which is %.0f%% of all waiting; it is WaitOne that was compiled into the method, or the "
			 "runtime itself (garbage collection, compilation)",
			 n->runtime_pool, n->workers, waiting_percent(n, n->runtime_pool));
	finding_place(out, n->runtime_place.text);
}

static void says_waits_for_events(const void *numbers, struct finding *out)
{
	const struct wait_numbers *n = numbers;
	if (out->state != FINDING_EXCLUDED && events_unclear(n)) {
		say_inside_runtime(n, out);
		return;
	}
	say_pool(n, "workers that wait for events or mutexes", "Events or mutexes", n->event_pool, &n->event_place, out);
	if (out->state != FINDING_EXCLUDED)
		say_caller(n->event_what.text, n->event_pool, &n->event_place, out);
}

/* locks, console, CPU ---------------------------------------------------------------------------------------------- */

/* The stacks name the lock, the kernel's switches how long. That others have it is said by the runtime's table, or by several threads that take turns. */
static struct rule_score locks_contended(const void *numbers)
{
	const struct wait_numbers *n = numbers;
	bool turns = n->lock_waiters >= 2 && n->lock_per_second * n->seconds >= 2 * n->lock_waiters;
	return (struct rule_score){score_of(n, n->lock_threads, LEAST_THREADS), n->sightings > 0 || turns ? 2 : 1};
}

static void says_locks_contended(const void *numbers, struct finding *out)
{
	const struct wait_numbers *n = numbers;
	AUTO_BUF struct buf place, held;
	buf_init(&held, RULE_TEXT_BYTES * 3);
	buf_init(&place, RULE_TEXT_BYTES * 2);
	if (finding_excluded(out, "locks that many threads want",
			     "%.2f threads wait for locks at a time, %.0f%% of all waiting", n->lock_threads, n->lock_percent))
		return;
	if (n->lock_holder.text[0])
		buf_printf(&held, "; mostly held by a thread that waits in %s (%s)", n->lock_holder.text, n->lock_holder_what.text);
	finding_message(out, "Lock contention: %.1f %s at a time, in %s", n->lock_threads, size_text_plural(n->lock_threads, "thread", "threads"),
			short_place(&n->lock_place, &place));
	finding_evidence(out, "%.0f %s for %s there, %.1f at a time, %.0f times a second, at most %.0f ms; all locks: %.0f%% of all waiting%s",
			 n->lock_waiters, size_text_plural(n->lock_waiters, "thread waits", "threads wait"), n->lock_what.text, n->lock_place_threads,
			 n->lock_per_second, n->lock_longest_ms, n->lock_percent, buf_str(&held));
	finding_place(out, n->lock_place.text);
}

static struct rule_score console_slow(const void *numbers)
{
	const struct wait_numbers *n = numbers;
	return (struct rule_score){score_of(n, n->console_threads, CONSOLE_THREADS), 2};
}

static void says_console_slow(const void *numbers, struct finding *out)
{
	const struct wait_numbers *n = numbers;
	AUTO_BUF struct buf place;
	buf_init(&place, RULE_TEXT_BYTES * 2);
	if (finding_excluded(out, "threads that wait for the console", "%.2f threads at a time", n->console_threads))
		return;
	const char *threads = size_text_plural(n->console_threads, "thread", "threads");
	finding_message(out, "Console output blocks: %.1f %s at a time, in %s", n->console_threads, threads, short_place(&n->console_place, &place));
	finding_evidence(out, "%.1f %s at a time write to the console, or wait for others that do: %.0f%% of all waiting", n->console_threads, threads,
			 waiting_percent(n, n->console_threads));
	finding_place(out, n->console_place.text);
}

static struct rule_score cpu_short(const void *numbers)
{
	const struct wait_numbers *n = numbers;
	bool found = n->cpu_wait_percent >= DELAY_PERCENT && n->run_delay_threads >= DELAY_THREADS;
	bool seen = n->preempted_threads >= DELAY_THREADS / 4 || n->throttled_seconds > 0.05 * n->seconds;
	double harm = 100 * n->run_delay_threads / (n->run_delay_threads + n->waiting_threads); /* beside all other waiting */
	return (struct rule_score){found ? rules_score(fmin(80, harm)) : 0, seen ? 2 : 1};
}

static void says_cpu_short(const void *numbers, struct finding *out)
{
	const struct wait_numbers *n = numbers;
	if (finding_excluded(out, "threads that wait for a CPU",
			     "%.2f at a time, %.0f%% of the time in which threads could run", n->run_delay_threads, n->cpu_wait_percent))
		return;
	bool throttled = n->throttled_seconds > 0.05 * n->seconds;
	finding_message(out, "Threads wait for a CPU %.0f%% of the time they could run: %s", n->cpu_wait_percent,
			throttled ? "the CPU limit" : "the node is full");
	finding_evidence(out, "%.1f %s at a time could run and had no CPU; %.2f CPUs used of %.1f; throttled %.1f s", n->run_delay_threads,
			 size_text_plural(n->run_delay_threads, "thread", "threads"), n->cpus_used, n->cpus_allowed,
			 rules_known(n->throttled_seconds) ? n->throttled_seconds : 0);
}

const struct rule wait_rules[] = {
	{"ThreadPoolStarvation", needs_waits, pool_starved, says_pool_starved},
	{"LockContention", needs_waits, locks_contended, says_locks_contended},
	{"SyncOverAsync", needs_waits, blocks_on_tasks, says_blocks_on_tasks},
	{"SynchronousIO", needs_waits, blocks_on_io, says_blocks_on_io},
	{"SleepInPool", needs_waits, sleeps_in_pool, says_sleeps_in_pool},
	{"EventWaitInPool", needs_events, waits_for_events, says_waits_for_events},
	{"ConsoleWrites", needs_waits, console_slow, says_console_slow},
	{"CPUQueue", needs_delay, cpu_short, says_cpu_short},
};
const size_t wait_rule_count = sizeof wait_rules / sizeof *wait_rules;

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
