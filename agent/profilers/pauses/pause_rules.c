#include "agent/profilers/pauses/pause_rules.h"

#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#define FEW_PERCENT 0.5         /* of the time */
#define FEW_LONGEST_MS 10.0
#define SUSPENDING_PERCENT 40.0 /* of the paused time */
#define OUTWEIGHS_PERCENT 50.0  /* of the paused time: one pause is more than the others together */
#define ITS_SUSPENDING_PERCENT 60.0
#define SHARE_PERCENT 30.0
#define OTHER_PERCENT 50.0
#define LARGE_PERCENT 20.0
#define GEN2_AT_LIMIT_PERCENT 20.0
#define NEAR_LIMIT_PERCENT 70.0      /* the runtime's heap may have 75% of the container's memory */
#define NEAR_HARD_LIMIT_PERCENT 90.0
#define NATIVE_MB 40.0               /* of a small process, beside its heap */
#define THROTTLED_PERCENT 5.0
#define DELAY_PERCENT 20.0
#define DELAY_MS 100.0
#define NODE_PRESSURE_PERCENT 20.0   /* of the session: the kernel's word for a full node, where it gives one */
#define OWN_LOAD_PERCENT 70.0        /* of the node's CPUs: then it is the process itself that fills it */
#define HEAPS_PER_CPU 1.5
#define HEAP_MB 64.0                 /* of the container's memory, that each heap should have */
#define LEAST_SUSPENSION_MS 1.0
#define MESSAGE_NAME_CHARS 90

static const struct pause_numbers *pause_numbers_in(const void *numbers)
{
	return numbers;
}

bool pause_rules_noticeable(const struct pause_numbers *n)
{
	return n->pauses > 0 && (n->paused_percent >= FEW_PERCENT || n->longest_ms >= FEW_LONGEST_MS);
}

static struct rule_score pause_score(const struct pause_numbers *n, bool found, double percent, bool second)
{
	return (struct rule_score){found && pause_rules_noticeable(n) ? rules_score(percent) : 0, 1 + second};
}

/* "GCs induced by Shop.Cache.Trim" */
static void pause_message(struct finding *f, const char *before, const char *name)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, METHOD_NAME_SIZE + 1);
	method_name_shorten(name, MESSAGE_NAME_CHARS, &shown);
	finding_message(f, "%s%s", before, buf_str(&shown));
	finding_place(f, name);
}

/* Where nobody feels the pauses at all, that is the number that excludes. */
static bool pause_excluded(const struct pause_numbers *n, const char *what, struct finding *f)
{
	if (f->state != FINDING_EXCLUDED)
		return false;
	finding_message(f, "%s", what);
	if (!pause_rules_noticeable(n))
		finding_evidence(f, "%.2f%% of the time paused, longest %.1f ms", n->paused_percent, n->longest_ms);
	return true;
}

/* Of what the runtime did when all threads stood: a pause that is long until then is no collection's fault. */
static void share_evidence(struct finding *f, double percent)
{
	if (!f->evidence[0])
		finding_evidence(f, "%.0f%% of the paused time when all threads stood", percent);
}

/* who asked -------------------------------------------------------------------------------------------------------------------- */

static struct rule_score induces(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	return pause_score(n, n->induced_percent >= SHARE_PERCENT, n->induced_percent, n->inducer.text[0] != '\0');
}

static void says_induces(const void *numbers, struct finding *f)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	if (pause_excluded(n, "collections that the code asks for", f)) {
		share_evidence(f, n->induced_percent);
		return;
	}
	if (n->inducer.text[0])
		pause_message(f, "GCs induced by ", n->inducer.text);
	else
		finding_message(f, "induced collections, by whom is not known");
	finding_evidence(f, "%.0f induced %s, %.0f%% of the paused time", n->induced_pauses, size_text_plural(n->induced_pauses, "pause", "pauses"),
			 n->induced_percent);
}

/* threads that stop late ------------------------------------------------------------------------------------------------------- */

static bool pause_cpu_short(const struct pause_numbers *n)
{
	return (rules_known(n->throttled_percent) && n->throttled_percent >= THROTTLED_PERCENT) ||
	       (rules_known(n->delay_percent) && n->delay_percent >= DELAY_PERCENT && n->run_delay_ms >= DELAY_MS);
}

static struct rule_score suspends_slowly(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	bool one = n->longest_percent >= OUTWEIGHS_PERCENT && n->longest_suspending_percent >= ITS_SUSPENDING_PERCENT;
	bool found = n->longest_suspending_ms >= LEAST_SUSPENSION_MS && (n->suspending_percent >= SUSPENDING_PERCENT || one);
	return pause_score(n, found, n->suspending_percent, n->late_method.text[0] && !pause_cpu_short(n));
}

static void says_suspends_slowly(const void *numbers, struct finding *f)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	if (pause_excluded(n, "threads that do not stop", f)) {
		if (!f->evidence[0])
			finding_evidence(f, "%.0f%% of the paused time until all had stopped, at most %.1f ms", n->suspending_percent,
					 n->longest_suspending_ms);
		return;
	}
	if (n->late_method.text[0])
		pause_message(f, "threads that do not stop: ", n->late_method.text);
	else
		finding_message(f, "threads that do not stop");
	finding_evidence(f, "%.0f%% of the paused time until all threads had stopped, at most %.1f ms; last came %s%s%s", n->suspending_percent,
			 n->longest_suspending_ms, n->late_thread.text[0] ? "thread '" : "no one thread", n->late_thread.text,
			 n->late_thread.text[0] ? "'" : "");
}

/* generation 2 ----------------------------------------------------------------------------------------------------------------- */

/* The heap's own limit is of the process, without what the runtime has beside its heap; the other is of all that runs in the container. */
static double used_mb(const struct pause_numbers *n)
{
	if (rules_known(n->hard_limit_mb))
		return n->process_mb > NATIVE_MB ? n->process_mb - NATIVE_MB : rules_known(n->process_mb) ? 0 : NAN;
	return n->memory_mb;
}

static double near_limit_percent(const struct pause_numbers *n)
{
	double limit = rules_known(n->hard_limit_mb) ? n->hard_limit_mb : n->memory_limit_mb;
	return limit > 0 ? 100 * used_mb(n) / limit : 0;
}

static const char *needs_memory(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	bool limit = rules_known(n->hard_limit_mb) || rules_known(n->memory_limit_mb);
	return limit && rules_known(used_mb(n)) ? NULL : "the container's memory and its limit are not known";
}

static struct rule_score is_at_limit(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	double near = rules_known(n->hard_limit_mb) ? NEAR_HARD_LIMIT_PERCENT : NEAR_LIMIT_PERCENT;
	return pause_score(n, n->gen2_percent >= GEN2_AT_LIMIT_PERCENT && near_limit_percent(n) >= near, n->gen2_percent, true);
}

static void says_at_limit(const void *numbers, struct finding *f)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	double limit = rules_known(n->hard_limit_mb) ? n->hard_limit_mb : n->memory_limit_mb;
	finding_message(f, "%s", f->state == FINDING_EXCLUDED ? "a heap at its limit" : "the heap is at its limit");
	if (limit > 0)
		finding_evidence(f, "%.0f of %.0f MB%s, %.0f blocking collections of generation 2, %.0f%% of the paused time", used_mb(n), limit,
				 rules_known(n->hard_limit_mb) ? " of the heap's own limit" : "", n->gen2_collections, n->gen2_percent);
	else
		finding_evidence(f, "%.0f MB, no limit", used_mb(n));
}

static const char *needs_causes(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	bool collected = n->young_collections + n->gen2_collections + n->background_collections > 0;
	return !collected || n->causes_looked_at > 0 ? NULL : "the runtime's events about collections could not be had";
}

static struct rule_score is_for_large(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	double old = n->gen2_percent + n->background_percent;
	return pause_score(n, rules_known(n->large_percent) && n->large_percent >= LARGE_PERCENT && old >= LARGE_PERCENT, n->large_percent, true);
}

static void says_for_large(const void *numbers, struct finding *f)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	double percent = rules_known(n->large_percent) ? n->large_percent : 0;
	if (pause_excluded(n, "collections for large objects", f))
		share_evidence(f, percent);
	else
		finding_message(f, "gen 2 collections for large objects");
	if (!f->evidence[0])
		finding_evidence(f, "%.0f%% of the paused time", percent);
}

static struct rule_score blocks_gen2(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	return pause_score(n, n->gen2_percent >= SHARE_PERCENT, n->gen2_percent, n->gen2_collections > 0);
}

static void says_blocks_gen2(const void *numbers, struct finding *f)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	if (pause_excluded(n, "gen 2 collections that block", f)) {
		share_evidence(f, n->gen2_percent);
		return;
	}
	finding_message(f, "gen 2 collections that block");
	finding_evidence(f, "%.0f blocking %s of generation 2, %.0f in the background; %.0f%% of the paused time", n->gen2_collections,
			 size_text_plural(n->gen2_collections, "collection", "collections"), n->background_collections, n->gen2_percent);
}

static struct rule_score is_in_background(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	return pause_score(n, n->background_percent >= OTHER_PERCENT, n->background_percent, n->background_collections > 0);
}

static void says_in_background(const void *numbers, struct finding *f)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	if (pause_excluded(n, "phases of background collections", f)) {
		share_evidence(f, n->background_percent);
		return;
	}
	finding_message(f, "phases of background collections");
	finding_evidence(f, "%.0f %s of generation 2 in the background, %.0f%% of the paused time", n->background_collections,
			 size_text_plural(n->background_collections, "collection", "collections"), n->background_percent);
}

/* the young generations -------------------------------------------------------------------------------------------------------- */

static struct rule_score is_by_allocation(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	return pause_score(n, n->young_percent >= SHARE_PERCENT, n->young_percent, n->young_collections > 0);
}

static void says_by_allocation(const void *numbers, struct finding *f)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	if (pause_excluded(n, "collections by allocation", f)) {
		share_evidence(f, n->young_percent);
		return;
	}
	finding_message(f, "collections, by allocation");
	finding_evidence(f, "%.0f %s of generations 0 and 1, %.0f%% of the paused time", n->young_collections,
			 size_text_plural(n->young_collections, "collection", "collections"), n->young_percent);
}

static struct rule_score is_for_others(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	return pause_score(n, n->other_percent >= OTHER_PERCENT, n->other_percent, true);
}

static void says_for_others(const void *numbers, struct finding *f)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	if (pause_excluded(n, "pauses for no collection", f)) {
		share_evidence(f, n->other_percent);
		return;
	}
	finding_message(f, "%s", n->other_reason.text[0] ? n->other_reason.text : "the runtime's own work");
	finding_evidence(f, "%.0f%% of the paused time", n->other_percent);
}

/* the container and the node ------------------------------------------------------------------------------------------------------ */

static const char *needs_throttling(const void *numbers)
{
	return rules_known(pause_numbers_in(numbers)->throttled_percent) ? NULL : "the container's account of CPU is not known";
}

static struct rule_score is_throttled(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	return pause_score(n, n->throttled_percent >= THROTTLED_PERCENT, n->throttled_percent, n->throttled_ms > 0);
}

static void says_throttled(const void *numbers, struct finding *f)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	finding_message(f, "%s", f->state == FINDING_EXCLUDED ? "CPU throttling" : "the CPU quota is used up");
	if (rules_known(n->throttled_ms) && f->state != FINDING_EXCLUDED)
		finding_evidence(f, "throttled in %.0f%% of the periods, %.0f ms in all", n->throttled_percent, n->throttled_ms);
	else
		finding_evidence(f, "throttled in %.0f%% of the periods", n->throttled_percent);
}

static const char *needs_delay(const void *numbers)
{
	return rules_known(pause_numbers_in(numbers)->delay_percent) ? NULL : "how long its threads waited for a CPU is not known";
}

static struct rule_score is_delayed(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	bool throttled = rules_known(n->throttled_percent) && n->throttled_percent >= THROTTLED_PERCENT;
	bool others = rules_known(n->cpus_used) && rules_known(n->node_cpus) && 100 * n->cpus_used < OWN_LOAD_PERCENT * n->node_cpus;
	bool pressed = !rules_known(n->node_pressure_percent) || n->node_pressure_percent >= NODE_PRESSURE_PERCENT;
	return pause_score(n, !throttled && pressed && n->delay_percent >= DELAY_PERCENT && n->run_delay_ms >= DELAY_MS, n->delay_percent, others);
}

static void says_delayed(const void *numbers, struct finding *f)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	finding_message(f, "%s", f->state == FINDING_EXCLUDED ? "a full node" : "the node has no free CPU");
	finding_evidence(f, "threads waited %.1f s for a CPU, %.0f%% of the time that they were ready to run", n->run_delay_ms / 1000, n->delay_percent);
	if (rules_known(n->node_pressure_percent))
		finding_evidence(f, "threads waited %.1f s for a CPU, %.0f%% of the time that they were ready to run; in %.0f%% of the session "
				    "some thread of the node waited for one", n->run_delay_ms / 1000, n->delay_percent,
				 n->node_pressure_percent);
}

static const char *needs_heaps(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	return rules_known(n->server_heaps) && rules_known(n->cpus) ? NULL : "its heaps or its CPUs are not known";
}

/* Too little memory for each counts where the container is near its limit only: elsewhere there is no harm. */
static struct rule_score has_many_heaps(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	bool crowded = n->server_heaps > 1 && n->server_heaps > n->cpus * HEAPS_PER_CPU;
	bool small = n->server_heaps > 1 && n->memory_limit_mb > 0 && n->memory_limit_mb < n->server_heaps * HEAP_MB &&
		     near_limit_percent(n) >= NEAR_LIMIT_PERCENT;
	double percent = crowded ? 50 * (1 - n->cpus / n->server_heaps) : 25;
	return (struct rule_score){(crowded || small) && n->pauses > 0 ? rules_score(percent) : 0, 2};
}

static void says_many_heaps(const void *numbers, struct finding *f)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	const char *heaps = size_text_plural(n->server_heaps, "heap", "heaps"), *cpus = size_text_plural(n->cpus, "CPU", "CPUs");
	if (f->state == FINDING_EXCLUDED)
		finding_message(f, "Server GC in a small container");
	else
		finding_message(f, "Server GC has %.0f %s on %.0f %s", n->server_heaps, heaps, n->cpus, cpus);
	if (n->server_heaps < 1)
		finding_evidence(f, "Server GC is not in use");
	else if (n->memory_limit_mb > 0)
		finding_evidence(f, "%.0f %s on %.0f %s, %.0f MB of the memory limit for each", n->server_heaps, heaps, n->cpus, cpus,
				 n->memory_limit_mb / n->server_heaps);
	else
		finding_evidence(f, "%.0f %s on %.0f %s", n->server_heaps, heaps, n->cpus, cpus);
}

static const char *needs_limit(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	if (n->in_container <= 0)
		return "the process is in no container";
	return rules_known(n->memory_limit_mb) && rules_known(n->memory_mb) ? NULL : "the container's memory limit is not known";
}

/* It makes generation 2 large, and is only worth a word where that is what takes the time. */
static struct rule_score has_no_limit(const void *numbers)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	bool none = n->memory_limit_mb <= 0 && !rules_known(n->hard_limit_mb);
	return pause_score(n, none && n->gen2_percent >= SHARE_PERCENT, 10, false);
}

static void says_no_limit(const void *numbers, struct finding *f)
{
	const struct pause_numbers *n = pause_numbers_in(numbers);
	bool none = n->memory_limit_mb <= 0 && !rules_known(n->hard_limit_mb);
	finding_message(f, "%s", f->state == FINDING_EXCLUDED ? "a heap without a limit" : "no memory limit: the heap grows by the node's memory");
	if (none)
		finding_evidence(f, "no limit is set, %.0f MB are used", n->memory_mb);
	else
		finding_evidence(f, "%.0f MB", rules_known(n->hard_limit_mb) ? n->hard_limit_mb : n->memory_limit_mb);
}

/* Of equal scores the first: what explains the other comes before it. */
const struct rule pause_rules[] = {
	{"InducedCollections", NULL, induces, says_induces},
	{"SlowSuspension", NULL, suspends_slowly, says_suspends_slowly},
	{"GCAtHeapLimit", needs_memory, is_at_limit, says_at_limit},
	{"LargeObjectCollections", needs_causes, is_for_large, says_for_large},
	{"BlockingGen2", NULL, blocks_gen2, says_blocks_gen2},
	{"BackgroundCollections", NULL, is_in_background, says_in_background},
	{"AllocationPressure", NULL, is_by_allocation, says_by_allocation},
	{"OtherSuspensions", NULL, is_for_others, says_for_others},
	{"CpuThrottled", needs_throttling, is_throttled, says_throttled},
	{"NodeIsFull", needs_delay, is_delayed, says_delayed},
	{"ServerGCInSmallContainer", needs_heaps, has_many_heaps, says_many_heaps},
	{"NoMemoryLimit", needs_limit, has_no_limit, says_no_limit},
};
const size_t pause_rule_count = sizeof pause_rules / sizeof *pause_rules;
