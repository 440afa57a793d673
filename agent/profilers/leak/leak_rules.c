#include "agent/profilers/leak/leak_rules.h"

#include "common/base/size_text.h"

#include <stdio.h>
#include <string.h>

#define YOUNG_SECONDS 60
#define MANY_OBJECTS 1000   /* more timers or tokens, where their bytes alone do not say it */
#define MORE_PART 1.2       /* a fifth more */
#define MANY_ENTITIES 10000 /* tracked at the last walk */
#define ENTITIES_EACH 1000  /* of one DbContext */
#define SOME_LOADERS 3
#define COUNT_SCORE 10      /* of what is told by its count: its bytes are somebody else's */

typedef const struct leak_numbers *numbers_t;

/* words ------------------------------------------------------------------------------------------------------------- */

struct words {
	char text[64];
};

static struct words bytes_words(double bytes)
{
	struct words w;
	AUTO_BUF struct buf b;
	buf_init(&b, sizeof w.text);
	size_text_bytes(&b, bytes > 0 ? (uint64_t)bytes : 0);
	snprintf(w.text, sizeof w.text, "%s", buf_str(&b));
	return w;
}

static struct words count_words(double count)
{
	struct words w;
	AUTO_BUF struct buf b;
	buf_init(&b, sizeof w.text);
	size_text_count(&b, count > 0 ? (uint64_t)count : 0);
	snprintf(w.text, sizeof w.text, "%s", buf_str(&b));
	return w;
}

/* what all rules ask ------------------------------------------------------------------------------------------------ */

/* All that is found to grow, but for what the runtime keeps and would give back: what the scores are parts of. */
static double harm(numbers_t n)
{
	const double all[] = {n->held_bytes,  n->event_bytes,	n->timer_bytes,	       n->token_bytes, n->async_bytes, n->container_bytes,
			      n->context_bytes, n->entity_bytes, n->unmanaged_growing, n->torn > 0 ? n->gap_bytes : 0};
	double sum = 0;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		sum += rules_known(all[i]) && all[i] > 0 ? all[i] : 0;
	return sum;
}

/* Walks that tell growth that goes on from a filling are the second witness; types alone, or the first minute of a process, take it away. */
static int walk_witnesses(numbers_t n)
{
	bool young = rules_known(n->uptime_seconds) && n->uptime_seconds < YOUNG_SECONDS;
	return n->walks > 2 && !(n->types_only > 0) && !young ? 2 : 1;
}

static struct rule_score score_of(numbers_t n, double bytes)
{
	double all = harm(n);
	if (!(bytes > 0) || all <= 0)
		return (struct rule_score){0, 0};
	return (struct rule_score){rules_score(bytes * 100 / all), walk_witnesses(n)};
}

static const char *needs_walks(numbers_t n)
{
	return !(n->walks >= 2) || !(n->seconds > 0) ? "the heap was walked once only" : NULL;
}

/* What two walks did not see to grow may do so nevertheless. */
static const char *needs_to_exclude(numbers_t n, double bytes)
{
	const char *lacks = needs_walks(n);
	return lacks ? lacks : n->walks < 3 && !(bytes > 0) ? "two heap walks cannot rule it out" : NULL;
}

static const char *needs_holders(numbers_t n, double bytes)
{
	const char *lacks = needs_walks(n);
	return lacks ? lacks : n->types_only > 0 ? "objects were only counted by type" : needs_to_exclude(n, bytes);
}

/* The part's own sentence; excluded: what it is, with what was seen. */
static void say_part(numbers_t n, double bytes, double more, const struct rule_text *holder, const struct rule_text *line, const char *excluded,
		     struct finding *out)
{
	if (finding_excluded(out, excluded, "none that grew in %.0f walks", n->walks))
		return;
	finding_message(out, "%s", line->text);
	finding_evidence(out, "+ %s, + %s %s, over %.0f walks", bytes_words(bytes).text, count_words(more).text, size_text_plural(more, "object", "objects"),
			 n->walks);
	finding_place(out, holder->text);
}

/* What grows, by who holds it --------------------------------------------------------------------------------------- */

static const char *leak_needs(const void *numbers)
{
	numbers_t n = numbers;
	const char *lacks = needs_to_exclude(n, n->held_bytes);
	return lacks ? lacks : !(n->held_bytes > 0) && n->open_bytes > 0 ? n->open_why.text : NULL;
}

static struct rule_score leak_test(const void *numbers)
{
	numbers_t n = numbers;
	return score_of(n, n->held_bytes);
}

static void leak_says(const void *numbers, struct finding *out)
{
	numbers_t n = numbers;
	say_part(n, n->held_bytes, n->held_more, &n->held_holder, &n->held_line, "objects that only grow", out);
	if (out->state == FINDING_EXCLUDED)
		finding_evidence(out, "none in %.0f walks; less than %s/min would not be seen", n->walks, bytes_words(n->least_per_minute).text);
}

#define PART_RULE(name, x, excluded)                                                                                  \
	static const char *name##_needs(const void *numbers)                                                          \
	{                                                                                                             \
		numbers_t n = numbers;                                                                                \
		return needs_holders(n, n->x##_bytes);                                                                \
	}                                                                                                             \
	static struct rule_score name##_test(const void *numbers)                                                     \
	{                                                                                                             \
		numbers_t n = numbers;                                                                                \
		return score_of(n, n->x##_bytes);                                                                     \
	}                                                                                                             \
	static void name##_says(const void *numbers, struct finding *out)                                             \
	{                                                                                                             \
		numbers_t n = numbers;                                                                                \
		say_part(n, n->x##_bytes, n->x##_more, &n->x##_holder, &n->x##_line, excluded, out);                   \
	}

PART_RULE(events, event, "event handlers")
PART_RULE(async, async, "async methods that never end")
PART_RULE(container, container, "disposables in the dependency-injection container")

/* By their number, where what they hold is small or is held by others, too. */
static struct rule_score pile_test(numbers_t n, double bytes, double first, double last)
{
	struct rule_score s = score_of(n, bytes);
	if (s.score == 0 && n->walks > 2 && last - first >= MANY_OBJECTS && last >= first * MORE_PART)
		s = (struct rule_score){COUNT_SCORE, 1};
	return s;
}

static void say_pile(numbers_t n, double bytes, double first, double last, const char *what, struct finding *out)
{
	if (out->state == FINDING_EXCLUDED || !(bytes > 0))
		finding_message(out, out->state == FINDING_EXCLUDED ? "%s that pile up" : "%s pile up", what);
	finding_evidence(out, "%s to %s in %.0f walks", count_words(first).text, count_words(last).text, n->walks);
}

static const char *timers_needs(const void *numbers)
{
	numbers_t n = numbers;
	return needs_to_exclude(n, n->timer_bytes);
}

static struct rule_score timers_test(const void *numbers)
{
	numbers_t n = numbers;
	return pile_test(n, n->timer_bytes, n->timers_first, n->timers_last);
}

static void timers_says(const void *numbers, struct finding *out)
{
	numbers_t n = numbers;
	say_part(n, n->timer_bytes, n->timer_more, &n->timer_holder, &n->timer_line, "", out);
	say_pile(n, n->timer_bytes, n->timers_first, n->timers_last, "Timers", out);
}

static const char *tokens_needs(const void *numbers)
{
	numbers_t n = numbers;
	return needs_to_exclude(n, n->token_bytes);
}

static struct rule_score tokens_test(const void *numbers)
{
	numbers_t n = numbers;
	return pile_test(n, n->token_bytes, n->tokens_first, n->tokens_last);
}

static void tokens_says(const void *numbers, struct finding *out)
{
	numbers_t n = numbers;
	say_part(n, n->token_bytes, n->token_more, &n->token_holder, &n->token_line, "", out);
	say_pile(n, n->token_bytes, n->tokens_first, n->tokens_last, "CancellationTokenSources", out);
}

/* contexts ---------------------------------------------------------------------------------------------------------- */

static const char *contexts_needs(const void *numbers)
{
	numbers_t n = numbers;
	return needs_to_exclude(n, n->loaders_more);
}

static struct rule_score contexts_test(const void *numbers)
{
	numbers_t n = numbers;
	if (!(n->loaders_more >= SOME_LOADERS) || (n->walks > 2 && !(n->loaders_rise > 0)))
		return (struct rule_score){0, 0};
	bool code = n->unmanaged_code > 0 && n->unmanaged_growing > 0; /* each brings its own */
	struct rule_score s = score_of(n, n->context_bytes + (code ? n->unmanaged_growing : 0));
	return s.score ? s : (struct rule_score){COUNT_SCORE, 1};
}

static void contexts_says(const void *numbers, struct finding *out)
{
	numbers_t n = numbers;
	if (finding_excluded(out, "AssemblyLoadContexts that stay", "%s more in %.0f walks", count_words(n->loaders_more).text, n->walks))
		return;
	bool named = n->loaders_root.text[0] && strcmp(n->loaders_root.text, "handle") != 0; /* that is the runtime's own, until nothing refers to them */
	finding_message(out, "AssemblyLoadContexts pile up: + %s%s%s", count_words(n->loaders_more).text, named ? ", kept by " : "",
			named ? n->loaders_root.text : "");
	finding_evidence(out, "+ %s of their own over %.0f walks", bytes_words(n->context_bytes).text, n->walks);
	finding_place(out, n->loaders_keeper.text[0] ? n->loaders_keeper.text : n->context_holder.text);
}

/* entities ---------------------------------------------------------------------------------------------------------- */

static const char *entities_needs(const void *numbers)
{
	numbers_t n = numbers;
	return needs_to_exclude(n, n->entity_bytes);
}

static struct rule_score entities_test(const void *numbers)
{
	numbers_t n = numbers;
	bool many = n->entities_last >= MANY_ENTITIES && n->entities_last >= n->trackers_last * ENTITIES_EACH;
	bool more = n->walks > 2 && n->entities_rise > 0 && n->entities_last >= n->entities_first * MORE_PART;
	struct rule_score s = score_of(n, n->entity_bytes);
	return s.score ? s : many && more ? (struct rule_score){COUNT_SCORE, walk_witnesses(n)} : (struct rule_score){0, 0};
}

static void entities_says(const void *numbers, struct finding *out)
{
	numbers_t n = numbers;
	if (out->state == FINDING_EXCLUDED)
		finding_message(out, "entities that a DbContext tracks");
	else if (n->entity_bytes > 0)
		finding_message(out, "%s", n->entity_line.text);
	else
		finding_message(out, "A DbContext tracks ever more entities: %s", count_words(n->entities_last).text);
	finding_place(out, out->state == FINDING_EXCLUDED ? "" : n->entity_holder.text);
	finding_evidence(out, "%s to %s in %s DbContexts", count_words(n->entities_first).text, count_words(n->entities_last).text,
			 count_words(n->trackers_last).text);
}

/* memory beside the live objects ------------------------------------------------------------------------------------ */

static const char *native_needs(const void *numbers)
{
	numbers_t n = numbers;
	const char *lacks = needs_walks(n);
	if (lacks)
		return lacks;
	if (!rules_known(n->unmanaged_bytes))
		return "the agent may not read the process's memory map";
	return n->unmanaged_open > 0 ? "it grew, but may have ended to: a longer session would tell" : needs_to_exclude(n, n->unmanaged_growing);
}

static struct rule_score native_test(const void *numbers)
{
	numbers_t n = numbers;
	return score_of(n, n->unmanaged_growing);
}

static void native_says(const void *numbers, struct finding *out)
{
	numbers_t n = numbers;
	bool less = n->unmanaged_bytes < 0;
	finding_message(out, "%s", out->state == FINDING_EXCLUDED ? "unmanaged memory" : n->unmanaged_line.text);
	finding_evidence(out, "%s %s in %.0f walks", less ? "-" : "+", bytes_words(less ? -n->unmanaged_bytes : n->unmanaged_bytes).text, n->walks);
	if (out->state != FINDING_EXCLUDED)
		finding_place(out, n->unmanaged_kind.text);
}

static const char *torn_needs(const void *numbers)
{
	return needs_walks(numbers);
}

static struct rule_score torn_test(const void *numbers)
{
	numbers_t n = numbers;
	return n->torn > 0 ? score_of(n, n->gap_bytes) : (struct rule_score){0, 0};
}

static void torn_says(const void *numbers, struct finding *out)
{
	numbers_t n = numbers;
	finding_message(out, "%s", out->state == FINDING_EXCLUDED ? "fragmentation by pinned objects" : n->torn_line.text);
	finding_evidence(out, "gaps + %s, + %s pinned objects", bytes_words(n->gap_bytes).text, count_words(n->pinned_more).text);
}

static const char *kept_needs(const void *numbers)
{
	numbers_t n = numbers;
	const char *lacks = needs_walks(n);
	return lacks ? lacks : !rules_known(n->kept_bytes) ? "the agent may not read the process's memory map" : NULL;
}

static struct rule_score kept_test(const void *numbers)
{
	numbers_t n = numbers;
	if (!(n->kept_much > 0))
		return (struct rule_score){0, 0};
	return (struct rule_score){harm(n) > 0 ? 1 : 100, walk_witnesses(n)}; /* beside what leaks it is a trifle */
}

static void kept_says(const void *numbers, struct finding *out)
{
	numbers_t n = numbers;
	finding_message(out, "%s", out->state == FINDING_EXCLUDED ? "free memory that the heap keeps" : n->kept_line.text);
	finding_evidence(out, "+ %s", bytes_words(n->kept_bytes).text);
}

/* the limit --------------------------------------------------------------------------------------------------------- */

static const char *limit_needs(const void *numbers)
{
	numbers_t n = numbers;
	const char *lacks = needs_walks(n);
	return lacks ? lacks : !rules_known(n->limit_bytes) ? "the container's memory limit is not known" : NULL;
}

/* Of a process that grows; that others have none is no illness. */
static struct rule_score limit_test(const void *numbers)
{
	numbers_t n = numbers;
	bool grows = n->bytes_per_minute > 0;
	return n->limit_bytes <= 0 && grows ? (struct rule_score){1, walk_witnesses(n)} : (struct rule_score){0, 0};
}

static void limit_says(const void *numbers, struct finding *out)
{
	numbers_t n = numbers;
	if (out->state != FINDING_EXCLUDED) {
		finding_message(out, "No memory limit: what grows takes the node's memory");
		finding_evidence(out, "%s in use, + %s/min", bytes_words(n->used_bytes).text, bytes_words(n->bytes_per_minute).text);
		return;
	}
	finding_message(out, "growth without a memory limit");
	if (n->limit_bytes > 0)
		finding_evidence(out, "the limit is %s", bytes_words(n->limit_bytes).text);
	else
		finding_evidence(out, "nothing grows");
}

/* Of equal scores the first one leads. */
const struct rule leak_rules[] = {
	{"MemoryLeak", leak_needs, leak_test, leak_says},
	{"AssemblyLoadContextsKept", contexts_needs, contexts_test, contexts_says},
	{"EventHandlers", events_needs, events_test, events_says},
	{"TimersPileUp", timers_needs, timers_test, timers_says},
	{"CancellationTokenSourcesPileUp", tokens_needs, tokens_test, tokens_says},
	{"AsyncCallsNeverEnd", async_needs, async_test, async_says},
	{"DisposablesInContainer", container_needs, container_test, container_says},
	{"NativeMemoryGrowth", native_needs, native_test, native_says},
	{"HeapFragmentation", torn_needs, torn_test, torn_says},
	{"HeapKeepsFreeMemory", kept_needs, kept_test, kept_says},
	{"TrackedEntities", entities_needs, entities_test, entities_says},
	{"NoMemoryLimit", limit_needs, limit_test, limit_says},
};
const size_t leak_rule_count = sizeof leak_rules / sizeof *leak_rules;

const char *leak_rules_remedy(const char *id)
{
	static const char *const remedies[][2] = {
		{"AssemblyLoadContextsKept", "Call Unload() and release every object, type and delegate of the plug-in: one that is kept from outside "
					     "keeps all that it loaded."},
		{"TimersPileUp", "Dispose timers that are no longer needed."},
		{"CancellationTokenSourcesPileUp", "Dispose each CancellationTokenSource when its work is done, linked ones above all."},
		{"TrackedEntities", "Use a DbContext for one unit of work and dispose it; read with AsNoTracking(), or call ChangeTracker.Clear() between "
				    "batches."},
	};
	for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++) {
		if (strcmp(remedies[i][0], id) == 0)
			return remedies[i][1];
	}
	return NULL;
}

enum leak_finding leak_rules_finding(const char *id, enum leak_part *part)
{
	static const struct {
		const char *id;
		enum leak_finding finding;
		enum leak_part part;
	} leads[] = {
		{"AssemblyLoadContextsKept", LEAK_FOUND_GROWS, LEAK_PART_CONTEXTS},
		{"MemoryLeak", LEAK_FOUND_GROWS, LEAK_PART_HELD},
		{"EventHandlers", LEAK_FOUND_GROWS, LEAK_PART_EVENTS},
		{"TimersPileUp", LEAK_FOUND_GROWS, LEAK_PART_TIMERS},
		{"CancellationTokenSourcesPileUp", LEAK_FOUND_GROWS, LEAK_PART_TOKENS},
		{"AsyncCallsNeverEnd", LEAK_FOUND_GROWS, LEAK_PART_ASYNC},
		{"DisposablesInContainer", LEAK_FOUND_GROWS, LEAK_PART_CONTAINER},
		{"TrackedEntities", LEAK_FOUND_GROWS, LEAK_PART_ENTITIES},
		{"NativeMemoryGrowth", LEAK_FOUND_UNMANAGED, LEAK_PARTS},
		{"HeapFragmentation", LEAK_FOUND_FREE_MEMORY, LEAK_PARTS},
		{"HeapKeepsFreeMemory", LEAK_FOUND_FREE_MEMORY, LEAK_PARTS},
	};
	for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
		if (strcmp(leads[i].id, id) != 0)
			continue;
		*part = leads[i].part;
		return leads[i].finding;
	}
	*part = LEAK_PARTS;
	return LEAK_FOUND_GROWS;
}
