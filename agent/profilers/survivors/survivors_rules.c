#include "agent/profilers/survivors/survivors_rules.h"

#include "agent/report/phrase.h"
#include "agent/profilers/survivors/survivors_held.h"
#include "agent/profilers/survivors/survivors_text.h"
#include "common/base/size_text.h"

#include <string.h>

#define SMALL_BYTES 1000000.0
#define HOLDER_PERCENT 25.0
#define SHARED_PERCENT 40.0
#define UNHELD_PERCENT 50.0
#define TYPE_PERCENT 30.0
#define FREE_PERCENT 50.0
#define FREE_BYTES 10000000.0
#define PINNED_OBJECTS 100
#define PINNED_FREE_PERCENT 20.0
#define LARGE_PERCENT 25.0      /* of the heap with its free space */
#define LARGE_FREE_PERCENT 30.0 /* of the large object heap */
#define SIGN_PERCENT 5.0        /* of the heap that a disease's objects hold; less does no harm */
#define HANDLERS 1000
#define TIMERS 1000
#define SOURCES 1000
#define WAITING_PERCENT 10.0    /* what timers and sources hold: requests that wait for a moment do, too */
#define OLD_PERCENT 50.0        /* of them in the oldest generation: they are kept, not just in use */
#define DISPOSABLES 1000
#define TRACKED 1000
#define TRACKED_PERCENT 20.0    /* a unit of work may have read some for a moment */
#define CONTEXTS 20
#define CONTEXTS_MANY 100       /* more than anybody has plug-ins: tells alone */
#define UNLOADING 10
/* Who holds and what it is explains less than a disease that is known by its name. */
#define HOLDER_WEIGHT 0.8
#define SHARED_WEIGHT 0.7
#define TYPE_WEIGHT 0.5
#define UNHELD_WEIGHT 0.3

bool survivors_rules_small(const struct survivors_numbers *n)
{
	return n->heap_bytes < SMALL_BYTES && n->seen_percent >= 100;
}

static double of_heap(const struct survivors_numbers *n, double bytes)
{
	return n->heap_bytes > 0 && bytes > 0 ? 100 * bytes / n->heap_bytes : 0;
}

/* With the free space between objects: what shares of both are compared by. */
static double of_all(const struct survivors_numbers *n, double bytes)
{
	double all = n->heap_bytes + (n->free_bytes > 0 ? n->free_bytes : 0);
	return all > 0 && bytes > 0 ? 100 * bytes / all : 0;
}

static bool has_holder(const struct survivors_numbers *n)
{
	return of_heap(n, n->holder_bytes) >= HOLDER_PERCENT;
}

bool survivors_rules_unread(const struct survivors_numbers *n)
{
	return n->holders_known > 0 && !has_holder(n) && of_heap(n, n->unread_bytes) >= HOLDER_PERCENT;
}

static struct rule_score found_if(bool found, double score)
{
	return (struct rule_score){found ? rules_score(score) : 0, 2};
}

/* What was looked for, where it is excluded; else the line. */
static void say_line(struct finding *f, const struct survivors_numbers *n, const char *excluded, void (*put)(const struct survivors_numbers *, struct buf *))
{
	if (f->state == FINDING_EXCLUDED) {
		finding_message(f, "%s", excluded);
		return;
	}
	AUTO_BUF struct buf line;
	buf_init(&line, 4096);
	put(n, &line);
	finding_message(f, "%s", buf_str(&line));
}

/* needs ------------------------------------------------------------------------------------------------------------ */

static const char *needs_holders(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	if (!(n->holders_known > 0))
		return "objects were only counted by type";
	return survivors_rules_unread(n) ? "some roots were not read" : NULL;
}

static const char *needs_type(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	if (!rules_known(n->type_bytes))
		return "there are no objects";
	return survivors_rules_unread(n) ? "some roots were not read" : NULL;
}

static const char *needs_whole(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	return rules_known(n->free_bytes) ? NULL : "only a part of the heap was seen";
}

static const char *needs_pinned(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	return rules_known(n->pinned_objects) ? needs_whole(numbers) : "objects were only counted by type";
}

static const char *needs_graph(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	return n->holders_known > 0 ? NULL : "objects were only counted by type";
}

static const char *needs_all_types(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	return n->seen_percent >= 100 ? NULL : "only a part of the heap was seen";
}

/* free space ------------------------------------------------------------------------------------------------------- */

static struct rule_score test_pinned(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	double free_percent = of_all(n, n->free_bytes);
	return found_if(n->pinned_objects >= PINNED_OBJECTS && free_percent >= PINNED_FREE_PERCENT && n->free_bytes >= FREE_BYTES, free_percent);
}

static void say_pinned(const void *numbers, struct finding *f)
{
	const struct survivors_numbers *n = numbers;
	AUTO_BUF struct buf line;
	buf_init(&line, 400);
	size_text_counted(&line, (uint64_t)n->pinned_objects, "pinned object leaves ", "pinned objects leave ");
	survivors_held_part(&line, n->free_bytes, n->heap_bytes + n->free_bytes, " of the heap free");
	finding_message(f, "%s", f->state == FINDING_EXCLUDED ? "pinning" : buf_str(&line));
	finding_evidence(f, "%.0f pinned %s, %.0f%% of the heap free", n->pinned_objects, size_text_plural(n->pinned_objects, "object", "objects"),
			 of_all(n, n->free_bytes));
}

static struct rule_score test_fragmentation(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	double percent = of_all(n, n->free_bytes);
	return found_if(percent >= FREE_PERCENT && n->free_bytes >= FREE_BYTES, percent);
}

static void say_fragmentation(const void *numbers, struct finding *f)
{
	const struct survivors_numbers *n = numbers;
	AUTO_BUF struct buf line;
	buf_init(&line, 400);
	survivors_held_part(&line, n->free_bytes, n->heap_bytes + n->free_bytes, " of the heap are free space between objects");
	finding_message(f, "%s", f->state == FINDING_EXCLUDED ? "fragmentation" : buf_str(&line));
	rules_share_evidence(f, n->free_bytes, of_all(n, n->free_bytes), " of the heap, free");
	finding_place(f, n->free_generation.text);
}

static double large_free_percent(const struct survivors_numbers *n)
{
	double all = n->large_bytes + n->large_free_bytes;
	return all > 0 ? 100 * n->large_free_bytes / all : 0;
}

static struct rule_score test_large(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	double percent = of_all(n, n->large_bytes + n->large_free_bytes);
	bool found = percent >= LARGE_PERCENT && large_free_percent(n) >= LARGE_FREE_PERCENT && n->large_free_bytes >= FREE_BYTES;
	return found_if(found, of_all(n, n->large_free_bytes));
}

static void say_large(const void *numbers, struct finding *f)
{
	const struct survivors_numbers *n = numbers;
	AUTO_BUF struct buf line;
	buf_init(&line, 400);
	survivors_held_part(&line, n->large_free_bytes, n->large_bytes + n->large_free_bytes, " of the large object heap are gaps between arrays");
	finding_message(f, "%s", f->state == FINDING_EXCLUDED ? "gaps between large objects" : buf_str(&line));
	finding_evidence(f, "%.0f%% of the heap is the large object heap, %.0f%% of it free", of_all(n, n->large_bytes + n->large_free_bytes),
			 large_free_percent(n));
	finding_place(f, "LOH");
}

/* what has a name -------------------------------------------------------------------------------------------------- */

/* "Handlers of PriceFeed.Changed" "10,000" "hold 4.1 MB of 5.0 MB" */
static void say_many(struct finding *f, const struct survivors_numbers *n, double count, const char *what, double bytes)
{
	AUTO_BUF struct buf line;
	buf_init(&line, 4096);
	size_text_count(&line, (uint64_t)count);
	buf_printf(&line, " %s hold ", what);
	survivors_held_part(&line, bytes, n->heap_bytes, "");
	finding_message(f, "%s", buf_str(&line));
}

static void say_count(struct finding *f, const struct survivors_numbers *n, double count, const char *unit, double bytes)
{
	AUTO_BUF struct buf line;
	buf_init(&line, 400);
	size_text_count(&line, (uint64_t)count);
	buf_printf(&line, " %s hold ", unit);
	phrase_percent(&line, of_heap(n, bytes));
	buf_puts(&line, " of the heap");
	finding_evidence(f, "%s", buf_str(&line));
}

static struct rule_score test_disposables(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	return found_if(n->disposables >= DISPOSABLES && of_heap(n, n->disposable_bytes) >= SIGN_PERCENT, of_all(n, n->disposable_bytes));
}

static void say_disposables(const void *numbers, struct finding *f)
{
	const struct survivors_numbers *n = numbers;
	if (f->state == FINDING_EXCLUDED)
		finding_message(f, "disposables kept by a service provider");
	else
		say_many(f, n, n->disposables, "disposables of a service provider", n->disposable_bytes);
	say_count(f, n, n->disposables, "disposables in its scopes", n->disposable_bytes);
	finding_place(f, n->disposable_type.text);
}

static struct rule_score test_tracked(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	return found_if(n->tracked_entities >= TRACKED && of_heap(n, n->tracker_bytes) >= TRACKED_PERCENT, of_all(n, n->tracker_bytes));
}

static void say_tracked(const void *numbers, struct finding *f)
{
	const struct survivors_numbers *n = numbers;
	if (f->state == FINDING_EXCLUDED)
		finding_message(f, "entities tracked by EF Core");
	else
		say_many(f, n, n->tracked_entities, n->trackers > 1 ? "entities tracked by DbContexts" : "entities tracked by one DbContext", n->tracker_bytes);
	say_count(f, n, n->tracked_entities, "tracked entities", n->tracker_bytes);
}

static struct rule_score test_handlers(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	return found_if(n->handlers >= HANDLERS && of_heap(n, n->handler_bytes) >= SIGN_PERCENT, of_all(n, n->handler_bytes));
}

static void say_handlers(const void *numbers, struct finding *f)
{
	const struct survivors_numbers *n = numbers;
	AUTO_BUF struct buf what;
	buf_init(&what, 1024);
	buf_puts(&what, "handlers of ");
	survivors_text_holder(&what, n->event.text, 30);
	if (f->state == FINDING_EXCLUDED)
		finding_message(f, "event handlers");
	else
		say_many(f, n, n->handlers, buf_str(&what), n->handler_bytes);
	say_count(f, n, n->handlers, "handlers of one event", n->handler_bytes);
	finding_place(f, n->event.text);
}

static struct rule_score test_timers(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	bool found = n->timers >= TIMERS && of_heap(n, n->timer_bytes) >= WAITING_PERCENT && n->timer_old_percent >= OLD_PERCENT;
	return found_if(found, of_all(n, n->timer_bytes));
}

static void say_timers(const void *numbers, struct finding *f)
{
	const struct survivors_numbers *n = numbers;
	if (f->state == FINDING_EXCLUDED)
		finding_message(f, "timers");
	else
		say_many(f, n, n->timers, "running timers", n->timer_bytes);
	say_count(f, n, n->timers, "timers", n->timer_bytes);
}

static struct rule_score test_sources(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	bool found = n->sources >= SOURCES && of_heap(n, n->source_bytes) >= WAITING_PERCENT && n->source_old_percent >= OLD_PERCENT;
	return found_if(found, of_all(n, n->source_bytes));
}

static void say_sources(const void *numbers, struct finding *f)
{
	const struct survivors_numbers *n = numbers;
	if (f->state == FINDING_EXCLUDED)
		finding_message(f, "CancellationTokenSources that pile up");
	else
		say_many(f, n, n->sources, "CancellationTokenSources", n->source_bytes);
	say_count(f, n, n->sources, "CancellationTokenSources", n->source_bytes);
}

static bool contexts_stay(const struct survivors_numbers *n)
{
	return n->load_contexts >= CONTEXTS && (n->unloading_contexts >= UNLOADING || n->load_contexts >= CONTEXTS_MANY);
}

/* The runtime's own handles hold contexts that were asked to unload: what refers to something of theirs is what keeps them. */
static bool contexts_by_handle(const struct survivors_numbers *n)
{
	return contexts_stay(n) && n->unloading_contexts >= UNLOADING && strcmp(n->holder.text, "handle") == 0 && n->holder_of_objects > 0 &&
	       n->holder_of_objects <= n->load_contexts;
}

/* Beside the heap they keep code and metadata: so much at least. */
static struct rule_score test_contexts(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	double percent = of_all(n, n->load_context_bytes);
	if (!contexts_stay(n))
		return (struct rule_score){0, 0};
	if (contexts_by_handle(n))
		percent = HOLDER_WEIGHT * of_all(n, n->holder_bytes) + 1;
	return (struct rule_score){rules_score(percent > 30 ? percent : 30), n->unloading_contexts >= UNLOADING ? 2 : 1};
}

static void say_contexts(const void *numbers, struct finding *f)
{
	const struct survivors_numbers *n = numbers;
	finding_message(f, f->state == FINDING_EXCLUDED ? "AssemblyLoadContexts that stay" : "%.0f collectible AssemblyLoadContexts are not unloaded",
			n->load_contexts);
	finding_evidence(f, "%.0f collectible contexts, %.0f of them asked to unload", n->load_contexts,
			 n->unloading_contexts > 0 ? n->unloading_contexts : 0);
}

/* who holds -------------------------------------------------------------------------------------------------------- */

static struct rule_score test_holder(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	return found_if(!survivors_rules_small(n) && has_holder(n), HOLDER_WEIGHT * of_all(n, n->holder_bytes));
}

static void say_holder(const void *numbers, struct finding *f)
{
	const struct survivors_numbers *n = numbers;
	say_line(f, n, "one holder of most", survivors_held_by_one);
	rules_share_evidence(f, n->holder_bytes, of_heap(n, n->holder_bytes), " of the heap");
	finding_place(f, n->holder.text);
}

static struct rule_score test_unheld(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	bool found = !survivors_rules_small(n) && !has_holder(n) && of_heap(n, n->unheld_bytes) >= UNHELD_PERCENT;
	return found_if(found, UNHELD_WEIGHT * of_all(n, n->unheld_bytes));
}

static void say_unheld(const void *numbers, struct finding *f)
{
	const struct survivors_numbers *n = numbers;
	say_line(f, n, n->unheld_words.text[0] ? n->unheld_words.text : "not yet collected", survivors_held_by_none);
	rules_share_evidence(f, n->unheld_bytes, of_heap(n, n->unheld_bytes), " of the heap");
}

static bool is_shared(const struct survivors_numbers *n)
{
	return !has_holder(n) && of_heap(n, n->unheld_bytes) < UNHELD_PERCENT && of_heap(n, n->shared_bytes) >= SHARED_PERCENT;
}

static struct rule_score test_shared(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	return found_if(!survivors_rules_small(n) && is_shared(n), SHARED_WEIGHT * of_all(n, n->shared_bytes));
}

static void say_shared(const void *numbers, struct finding *f)
{
	const struct survivors_numbers *n = numbers;
	say_line(f, n, "held by several roots", survivors_held_together);
	rules_share_evidence(f, n->shared_bytes, of_heap(n, n->shared_bytes), " of the heap");
	finding_place(f, n->shared_of.text);
}

static struct rule_score test_type(const void *numbers)
{
	const struct survivors_numbers *n = numbers;
	bool other = has_holder(n) || of_heap(n, n->unheld_bytes) >= UNHELD_PERCENT || is_shared(n);
	bool found = !survivors_rules_small(n) && !other && of_heap(n, n->type_bytes) >= TYPE_PERCENT;
	return found_if(found, TYPE_WEIGHT * of_all(n, n->type_bytes));
}

static void say_type(const void *numbers, struct finding *f)
{
	const struct survivors_numbers *n = numbers;
	say_line(f, n, "one type below many holders", survivors_held_type);
	rules_share_evidence(f, n->type_bytes, of_heap(n, n->type_bytes), " of the heap");
	finding_place(f, n->type.text);
}

const struct rule survivors_rules[] = {
	{"PinnedObjects", needs_pinned, test_pinned, say_pinned},
	{"HeapFragmentation", needs_whole, test_fragmentation, say_fragmentation},
	{"LargeObjects", needs_whole, test_large, say_large},
	{"DisposablesInContainer", needs_graph, test_disposables, say_disposables},
	{"TrackedEntities", needs_all_types, test_tracked, say_tracked},
	{"EventHandlers", needs_graph, test_handlers, say_handlers},
	{"TimersPileUp", needs_all_types, test_timers, say_timers},
	{"CancellationTokenSourcesPileUp", needs_all_types, test_sources, say_sources},
	{"AssemblyLoadContextsKept", needs_all_types, test_contexts, say_contexts},
	{"HeldByOneHolder", needs_holders, test_holder, say_holder},
	{"NotCollectedYet", needs_holders, test_unheld, say_unheld},
	{"HeldTogether", needs_graph, test_shared, say_shared},
	{"OneType", needs_type, test_type, say_type},
};
const size_t survivors_rules_count = sizeof survivors_rules / sizeof *survivors_rules;

const struct rule_engines survivors_engines[] = {
	{"DisposablesInContainer", ENGINE_ROOTS},
	{"EventHandlers", ENGINE_ROOTS},
	{"HeldByOneHolder", ENGINE_ROOTS},
	{"NotCollectedYet", ENGINE_ROOTS},
	{"HeldTogether", ENGINE_ROOTS},
	{"OneType", ENGINE_ROOTS},
	{NULL, 0},
};
