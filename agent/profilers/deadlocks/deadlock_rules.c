#include "agent/profilers/deadlocks/deadlock_numbers.h"

#include "agent/stacks/pool_phrase.h"
#include "agent/symbols/method_name.h"

#include <string.h>

#define LOOK_SECONDS 0.5   /* what lasts for less may be a lock that is only busy */
#define QUEUE_LEAST 2      /* one thread that waits for another is everyday */
#define NAME_CHARS 27     /* of one that a headline has */
#define PAIR_CHARS 18     /* of each of two */
#define OWNER_CHARS 24    /* of who waits for a task */

static const char *needs_two_looks(const void *numbers)
{
	const struct deadlock_numbers *n = numbers;
	if (n->unread.text[0])
		return n->unread.text;
	if (n->early == 1)
		return "the session ended at once, since a deadlock was certain";
	return n->seconds_between >= LOOK_SECONDS ? NULL : "the two looks were less than half a second apart";
}

/* Threads that sleep without a time limit, and of which none has run: they never will, however short the looks were apart. */
static bool is_certain_circle(const struct deadlock_numbers *n)
{
	return n->circles > 0 && n->circle_agreed == 1 && !(n->circle_timed > 0) && !(n->circle_cancelable > 0);
}

static const char *needs_circle_or_looks(const void *numbers)
{
	const struct deadlock_numbers *n = numbers;
	return !n->unread.text[0] && is_certain_circle(n) ? NULL : needs_two_looks(numbers);
}

static const char *needs_names(const void *numbers)
{
	const struct deadlock_numbers *n = numbers;
	const char *why = needs_two_looks(numbers);
	return why || n->named != 0 ? why : "methods have no names: a holder that waits for work, as consumers do in turn, cannot be told from others";
}

/* The name of a place, short enough for a headline. */
static const char *short_name(const struct rule_text *name, size_t chars, struct buf *out)
{
	buf_reset(out);
	method_name_shorten(name->text[0] ? name->text : "code without a name", chars, out);
	return buf_str(out);
}

/* What the runtime says of its locks is one witness; that the threads stood still for the kernel, each with its lock on its stack, and as many as the runtime
 * counts, is the other. Of a task: its fields on the one hand, on the other that its address is in the frame of who runs it, and the kernel. A thread that
 * waits for a bounded time gives up, and the circle opens. */
static struct rule_score in_a_circle(const void *numbers)
{
	const struct deadlock_numbers *n = numbers;
	return (struct rule_score){n->circles > 0 ? 100 : 0, is_certain_circle(n) ? 2 : 1};
}

static void says_circle(const void *numbers, struct finding *out)
{
	const struct deadlock_numbers *n = numbers;
	AUTO_BUF struct buf first, second;
	buf_init(&first, RULE_TEXT_BYTES * 2);
	buf_init(&second, RULE_TEXT_BYTES * 2);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, n->tasks == 1 && n->other_locks == 1 ? "a deadlock of monitors, Lock, ReaderWriterLockSlim and tasks"
				     : n->tasks == 1                      ? "a deadlock of monitors and tasks"
				     : n->other_locks == 1                ? "a deadlock of monitors, Lock and ReaderWriterLockSlim"
									  : "a deadlock of monitors");
		finding_evidence(out, "%.0f of %.0f threads waited for a lock through both looks, none in a circle; the runtime knows %.0f monitors",
				 n->lasting, n->threads, n->monitors);
		return;
	}
	const char *what = out->state == FINDING_FOUND ? "Deadlock" : "Possible deadlock";
	if (n->circle_threads == 2 && n->circle_tasks == 1)
		finding_message(out, "%s: %s waits for a task that needs its lock", what, short_name(&n->circle_first, OWNER_CHARS, &first));
	else if (n->circle_tasks > 0)
		finding_message(out, n->circle_tasks >= n->circle_threads ? "%s: %.0f threads wait for each other's tasks, in %s"
				     : n->circle_tasks == 1               ? "%s: %.0f threads and a task wait for each other, in %s"
									  : "%s: %.0f threads and tasks wait for each other, in %s",
				what, n->circle_threads, short_name(&n->circle_first, PAIR_CHARS, &first));
	else if (n->circle_threads == 2 && strcmp(n->circle_first.text, n->circle_second.text) != 0)
		finding_message(out, "%s: %s and %s wait for each other", what, short_name(&n->circle_first, PAIR_CHARS, &first),
				short_name(&n->circle_second, PAIR_CHARS, &second));
	else if (!n->circle_first.text[0])
		finding_message(out, "%s: %.0f threads wait for each other", what, n->circle_threads);
	else
		finding_message(out, "%s: %.0f threads wait for each other, in %s", what, n->circle_threads, short_name(&n->circle_first, NAME_CHARS, &first));
	finding_evidence(out, "%.0f threads wait in a circle, none ran in %.*f s; %.0f more wait behind them; circles: %.0f%s%s", n->circle_threads,
			 n->seconds_between < 1 ? 3 : 1, n->seconds_between, n->circle_behind, n->circles,
			 n->circle_timed > 0 ? "; one waits for a bounded time and will give up" : "",
			 n->circle_cancelable > 0 ? "; one waits with a CancellationToken, which may end its wait" : "");
	finding_place(out, n->circle_first.text);
}

/* Consumers that take from a queue one after the other: the first waits for work, the others for their turn. Nobody is held up who could work. */
static bool takes_in_turn(const struct deadlock_numbers *n)
{
	return n->queue_head_takes == 1 && n->queue_peers >= n->queue;
}

/* A holder that runs, and waiters of whom the runtime counts another number: some have waited for the lock before, and its address is left on their stacks. */
static bool may_be_busy(const struct deadlock_numbers *n)
{
	return n->queue_head_runs == 1 && n->queue_agreed != 1;
}

/* Where others wait for a consumer that waits for work, they may be those that would bring it, or not: only possible. */
static struct rule_score behind_one(const void *numbers)
{
	const struct deadlock_numbers *n = numbers;
	bool found = n->queue >= QUEUE_LEAST && !takes_in_turn(n) && !may_be_busy(n);
	return (struct rule_score){found ? rules_score(40 + n->queue) : 0, n->queue_agreed == 1 && !(n->queue_head_takes > 0) ? 2 : 1};
}

static void says_behind(const void *numbers, struct finding *out)
{
	const struct deadlock_numbers *n = numbers;
	AUTO_BUF struct buf name;
	buf_init(&name, RULE_TEXT_BYTES * 2);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "threads that wait behind one lock");
		if (n->queue >= QUEUE_LEAST && may_be_busy(n))
			finding_evidence(out, "the lock is busy: %s holds it and ran", n->queue_head.text);
		else if (n->queue >= QUEUE_LEAST)
			finding_evidence(out, "%.0f wait for their turn behind %s, which waits for work in the same method", n->queue, n->queue_head.text);
		else
			finding_evidence(out, "at most %.0f waited behind one thread through both looks", n->queue);
		return;
	}
	finding_message(out, "%.0f threads %s for a lock held in %s", n->queue, out->state == FINDING_FOUND ? "wait" : "may wait",
			short_name(&n->queue_place, NAME_CHARS, &name));
	finding_evidence(out, "%s holds the lock and %s in the %.1f s between the looks%s%s", n->queue_head.text,
			 n->queue_head_runs == 1 ? "ran" : "did not run", n->seconds_between, n->queue_peer.text[0] ? "; it waits for " : "",
			 n->queue_peer.text);
	finding_place(out, n->queue_place.text);
}

/* One that is free, or runs, takes what waits. */
static bool all_workers_block(const struct deadlock_numbers *n)
{
	return n->workers >= 2 && n->workers_blocked == n->workers;
}

static const char *needs_pool(const void *numbers)
{
	const struct deadlock_numbers *n = numbers;
	const char *why = needs_names(numbers);
	if (why)
		return why;
	bool unread = all_workers_block(n) && !rules_known(n->items_second);
	return unread ? "the length of the thread pool's queue could not be read (.NET 9 and newer have it)" : NULL;
}

/* That they did not run is the kernel's word, that work waits for them at both looks the queue's. */
static struct rule_score pool_stands(const void *numbers)
{
	const struct deadlock_numbers *n = numbers;
	bool found = all_workers_block(n) && n->items_first >= 1 && n->items_second >= 1;
	return (struct rule_score){found ? 90 : 0, 2};
}

static void says_pool_stands(const void *numbers, struct finding *out)
{
	const struct deadlock_numbers *n = numbers;
	AUTO_BUF struct buf words;
	buf_init(&words, RULE_TEXT_BYTES * 2);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "a thread pool whose workers all block while work waits");
		if (rules_known(n->items_second))
			finding_evidence(out, "%.0f of %.0f workers block; %.0f items waited in the pool's queue at the first look, %.0f at the second",
					 n->workers_blocked, n->workers, n->items_first, n->items_second);
		else
			finding_evidence(out, "%.0f of %.0f workers block", n->workers_blocked, n->workers);
		return;
	}
	pool_phrase_starved(n->workers_blocked, n->workers, n->workers_place.text, n->items_second, &words);
	finding_message(out, "%s", buf_str(&words));
	finding_evidence(out, "they did not run in the %.1f s between the looks; %.0f items waited in the pool's queue at the first, %.0f at the second",
			 n->seconds_between, n->items_first, n->items_second);
	finding_place(out, n->workers_place.text);
}

static const char *needs_other_locks(const void *numbers)
{
	const struct deadlock_numbers *n = numbers;
	if (n->tasks == 1)
		return n->other_locks == 1 ? "SemaphoreSlim, Mutex and the readers of a ReaderWriterLockSlim do not name who is waited for"
					   : "ReaderWriterLockSlim is read on .NET 9 and newer; SemaphoreSlim and Mutex do not name who is waited for";
	return n->other_locks == 1 ? "without names of methods, who runs a task is not known; SemaphoreSlim, Mutex and the readers of a ReaderWriterLockSlim "
				     "do not name who is waited for"
				   : "ReaderWriterLockSlim is read on .NET 9 and newer; SemaphoreSlim, Mutex and tasks do not name who is waited for here";
}

/* They are never judged: only what was not measured has a name. */
static void says_other_locks(const void *numbers, struct finding *out)
{
	const struct deadlock_numbers *n = numbers;
	finding_message(out, "%s", n->tasks == 1 ? "a deadlock of other locks" : "a deadlock of other locks or of tasks");
}

const struct rule deadlock_rules[] = {
	{"Deadlock", needs_circle_or_looks, in_a_circle, says_circle},
	{"LockHeldLong", needs_names, behind_one, says_behind},
	{"ThreadPoolStarvation", needs_pool, pool_stands, says_pool_stands},
	{"DeadlockOfOtherLocks", needs_other_locks, in_a_circle, says_other_locks},
};
const size_t deadlock_rule_count = sizeof deadlock_rules / sizeof *deadlock_rules;

const struct rule_engines deadlock_engines[] = {
	{"Deadlock", ENGINE_BIT(ENGINE_MONITORS)},
	{"LockHeldLong", ENGINE_BIT(ENGINE_MONITORS) | ENGINE_BIT(ENGINE_SLEEPERS)},
	{"ThreadPoolStarvation", ENGINE_BIT(ENGINE_SLEEPERS)},
	{"DeadlockOfOtherLocks", ENGINE_BIT(ENGINE_MONITORS)},
	{NULL, 0},
};
