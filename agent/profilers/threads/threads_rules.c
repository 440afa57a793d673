#include "agent/profilers/threads/threads_numbers.h"

#include "agent/report/report.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LOOK_SECONDS 0.9   /* what lasts for less may be busy */
#define CROWD 100          /* threads made at once that wait: no pool is that large without work */
#define SPREAD_SECONDS 8
#define GROWN_LEAST 3
#define GROWN_WINDOWS 4
#define ALIKE_LEAST 50
#define ALIKE_SPREAD 10
#define ALIKE_SECONDS 10
#define LIMIT_NEAR 80      /* percent */
#define WORKERS_LEAST 4
#define POSSIBLE_MOST 80   /* score of zombies of which one witness speaks */
#define THREAD_NAME_CHARS 20
#define NAME_LEAST 12      /* characters of a name that still say something */

static const char *needs_looks(const void *numbers)
{
	const struct threads_numbers *n = numbers;
	if (n->unread.text[0])
		return n->unread.text;
	return n->seconds_between >= LOOK_SECONDS ? NULL : "the two looks were less than a second apart";
}

/* A message that ends in a place, shortened so that it fits a headline; the place itself is the finding's. */
static void message_in(struct finding *out, const struct rule_text *place, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void message_in(struct finding *out, const struct rule_text *place, const char *format, ...)
{
	char words[HEADLINE_MAX_CHARS + 1];
	AUTO_BUF struct buf name;
	va_list args;
	va_start(args, format);
	int n = vsnprintf(words, sizeof words, format, args);
	va_end(args);
	int room = HEADLINE_MAX_CHARS - n - (int)strlen(" in ");
	buf_init(&name, RULE_TEXT_BYTES * 2);
	if (place->text[0] && room >= NAME_LEAST)
		method_name_shorten(place->text, (size_t)room, &name);
	finding_message(out, "%s%s%s", words, name.len ? " in " : "", buf_str(&name));
	finding_place(out, place->text);
}

/* zombies ---------------------------------------------------------------------------------------------------------- */

static bool workers_all_block(const struct threads_numbers *n)
{
	return n->threads_workers >= WORKERS_LEAST && n->workers_at_place == n->threads_workers;
}

/* Who began one after another and never went on: leftovers. Who began together may be a pool that waits. The kernel's count of switches says that none has
 * run; for a lock the stack is the other witness, as nobody idles in one. */
static struct rule_score stands_for_ever(const void *numbers)
{
	const struct threads_numbers *n = numbers;
	bool spread = n->zombie_spread_seconds >= SPREAD_SECONDS && n->zombie_burst * 2 <= n->zombies;
	if (!(n->zombies > 0) || (n->zombie_class == ZOMBIE_WORKER && workers_all_block(n)))
		return (struct rule_score){0, 1};
	if (n->zombie_class == ZOMBIE_LOCK)
		return (struct rule_score){rules_score(60 + n->zombies), 2};
	int score = rules_score(fmin(40 + n->zombies, POSSIBLE_MOST));
	if (n->zombie_class == ZOMBIE_WORKER || spread)
		return (struct rule_score){score, 1};
	return (struct rule_score){n->zombies >= CROWD ? 30 : 0, 1};
}

static void says_zombies(const void *numbers, struct finding *out)
{
	const struct threads_numbers *n = numbers;
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "zombie threads");
		if (n->zombies > 0)
			finding_evidence(out, "%.0f %s %s in %s, but began together, as a pool does", n->zombies,
					 size_text_plural(n->zombies, "thread", "threads"), n->zombie_wait.text, n->zombie_place.text);
		else
			finding_evidence(out, "%.0f of %.0f threads have not run for %.1f s: few at one place, or at work that comes by itself",
					 n->threads_still, n->threads, n->seconds_between);
		return;
	}
	message_in(out, &n->zombie_place, "%s%.0f threads %s", out->state == FINDING_FOUND ? "" : "Possible zombies: ", n->zombies, n->zombie_wait.text);
	finding_evidence(out, "none of them ran in the %.1f s between the looks, and none waits with a time limit; they began within %.0f s",
			 n->seconds_between, n->zombie_spread_seconds);
}

/* growth ----------------------------------------------------------------------------------------------------------- */

/* Two witnesses: more at the second look than at the first, and those that are there began one after another long before it. */
static struct rule_score multiplies(const void *numbers)
{
	const struct threads_numbers *n = numbers;
	double grown = n->grown_begun - n->grown_ended;
	bool looks = grown >= GROWN_LEAST, starts = rules_known(n->grown_windows) && n->grown_windows >= GROWN_WINDOWS && n->grown_recent >= GROWN_LEAST;
	if (looks && starts)
		return (struct rule_score){rules_score(50 + grown), 2};
	if (n->alike >= ALIKE_LEAST && n->alike_spread >= ALIKE_SPREAD && n->alike_last == 1 && n->alike_seconds >= ALIKE_SECONDS)
		return (struct rule_score){POSSIBLE_MOST + 5, 1};
	return (struct rule_score){0, 1};
}

static void says_growth(const void *numbers, struct finding *out)
{
	const struct threads_numbers *n = numbers;
	double grown = n->grown_begun - n->grown_ended;
	if (finding_excluded(out, "threads that multiply",
			     "%.0f threads at the first look, %.0f at the second; %.0f of the kind that grew most began, %.0f ended", n->threads_first,
			     n->threads, n->grown_begun, n->grown_ended))
		return;
	if (out->state == FINDING_POSSIBLE) {
		message_in(out, &n->alike_place, "Threads may multiply: %.0f began one by one", n->alike);
		finding_evidence(out, "they began over %.0f s, in %.0f of 20 parts of it, and are all there", n->alike_seconds, n->alike_spread);
		return;
	}
	if (n->grown_name.text[0]) {
		AUTO_BUF struct buf name; /* outside text */
		buf_init(&name, RULE_TEXT_BYTES * 4);
		method_name_printable(n->grown_name.text, THREAD_NAME_CHARS, &name);
		finding_message(out, "Threads multiply: %.0f more in %.1f s, most named %s", grown, n->seconds_between, buf_str(&name));
	} else {
		message_in(out, &n->grown_place, "%s multiply: %.0f more in %.1f s", n->grown_workers == 1 ? "Pool workers" : "Threads", grown,
			   n->seconds_between);
	}
	finding_evidence(out, "%.0f threads at the first look, %.0f at the second; in %.0f of %.0f parts of %.1f s before, threads began that are still there",
			 n->threads_first, n->threads, n->grown_windows, n->grown_parts, n->grown_part_seconds);
}

/* the finalizer ---------------------------------------------------------------------------------------------------- */

static const char *needs_finalizer(const void *numbers)
{
	const struct threads_numbers *n = numbers;
	const char *why = needs_looks(numbers);
	return why ? why : n->finalizer_seen == 1 ? NULL : "the finalizer thread was not told from others";
}

/* Without work it stands in the runtime alone: a finalizer of the application on its stack, and no switch in all the time, are the two. */
static struct rule_score finalizer_stands(const void *numbers)
{
	const struct threads_numbers *n = numbers;
	bool stands = n->finalizer_managed == 1 && n->finalizer_still == 1;
	return (struct rule_score){stands ? 90 : 0, 2};
}

static void says_finalizer(const void *numbers, struct finding *out)
{
	const struct threads_numbers *n = numbers;
	if (finding_excluded(out, "a blocked finalizer", n->finalizer_managed == 1 ? "the finalizer thread runs" : "the finalizer thread is without work"))
		return;
	message_in(out, &n->finalizer_place, "Finalizer blocked: it %s", n->finalizer_wait.text);
	finding_evidence(out, "the finalizer thread did not run in the %.1f s between the looks; threads that wait for finalizers: %.0f", n->seconds_between,
			 n->finalizer_waiters);
}

/* the pool --------------------------------------------------------------------------------------------------------- */

/* That none of them runs is the kernel's word; that work waits for them is the pool's queue's, at both looks. */
static bool work_waits_too(const struct threads_numbers *n)
{
	return n->queue_first >= 1 && n->queue_second >= 1;
}

static struct rule_score pool_starves(const void *numbers)
{
	const struct threads_numbers *n = numbers;
	bool waits = work_waits_too(n);
	return (struct rule_score){workers_all_block(n) ? (waits ? 95 : 70) : 0, waits ? 2 : 1};
}

static void says_starved(const void *numbers, struct finding *out)
{
	const struct threads_numbers *n = numbers;
	if (finding_excluded(out, "a thread pool whose workers all block",
			     "at most %.0f of %.0f workers stood at one place", n->workers_at_place, n->threads_workers))
		return;
	message_in(out, &n->workers_place, "%s: all %.0f workers %s", out->state == FINDING_FOUND ? "Thread pool starved" : "The pool may be starved",
		   n->threads_workers, n->workers_wait.text);
	if (rules_known(n->queue_second))
		finding_evidence(out, "none ran in the %.1f s between the looks; %.0f items waited in the pool's queue at the first, %.0f at the second",
				 n->seconds_between, n->queue_first, n->queue_second);
	else
		finding_evidence(out, "none of them ran in the %.1f s between the looks; whether work waits for them was not read", n->seconds_between);
}

/* the container's limit -------------------------------------------------------------------------------------------- */

static const char *needs_limit(const void *numbers)
{
	const struct threads_numbers *n = numbers;
	const char *why = needs_looks(numbers);
	return why ? why : rules_known(n->pids_max) ? NULL : "the container's limit of threads could not be read";
}

/* The container's own count, and the threads that were seen: this process has most of them. */
static struct rule_score limit_is_near(const void *numbers)
{
	const struct threads_numbers *n = numbers;
	bool near = rules_known(n->limit_percent) && n->limit_percent >= LIMIT_NEAR;
	return (struct rule_score){near ? rules_score(n->limit_percent) : 0, n->threads * 2 >= n->pids_current ? 2 : 1};
}

static void says_limit(const void *numbers, struct finding *out)
{
	const struct threads_numbers *n = numbers;
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "more threads than the container may have");
		if (n->pids_max > 0)
			finding_evidence(out, "the container has %.0f of at most %.0f threads (pids.max)", n->pids_current, n->pids_max);
		else
			finding_evidence(out, "the container has no limit of threads (pids.max)");
		return;
	}
	finding_message(out, "Near the limit of threads: %.0f of %.0f in the container", n->pids_current, n->pids_max);
	finding_evidence(out, "pids.max of the container's control group; this process has %.0f threads", n->threads);
}

const struct rule threads_rules[] = {
	{"TooManyThreads", needs_limit, limit_is_near, says_limit},
	{"FinalizerBlocked", needs_finalizer, finalizer_stands, says_finalizer},
	{"ThreadsMultiply", needs_looks, multiplies, says_growth},
	{"ZombieThreads", needs_looks, stands_for_ever, says_zombies},
	{"ThreadPoolStarvation", needs_looks, pool_starves, says_starved},
};
const size_t threads_rule_count = sizeof threads_rules / sizeof *threads_rules;

const struct rule_engines threads_engines[] = {
	{"FinalizerBlocked", ENGINE_BIT(ENGINE_SLEEPERS)},
	{"ZombieThreads", ENGINE_BIT(ENGINE_SLEEPERS) | ENGINE_BIT(ENGINE_MONITORS)},
	{"ThreadPoolStarvation", ENGINE_BIT(ENGINE_SLEEPERS)},
	{NULL, 0},
};
