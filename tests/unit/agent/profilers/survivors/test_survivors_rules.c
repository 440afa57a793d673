/* Each rule at both sides of its thresholds, on made-up numbers; and on what real applications were measured to have. */
#include "agent/profilers/survivors/survivors_rules.h"
#include "agent/report/report.h"
#include "agent/report/phrase.h"
#include "tests/unit/rules_capture.h"

#include <stddef.h>

#define MB 1e6
#define AT(member) offsetof(struct survivors_numbers, member)
#define END SIZE_MAX

struct set {
	size_t at;
	double value;
};

/* A heap of 100 MB in which nothing is wrong. */
static void make_sound(struct survivors_numbers *n)
{
	rules_clear(&survivors_numbers_fields, n);
	n->objects = 1e6;
	n->heap_bytes = 100 * MB;
	n->holders_known = 1;
	n->seen_percent = 100;
	n->unread_bytes = n->holder_objects = 0;
	n->holder_bytes = 5 * MB;
	n->shared_bytes = n->unheld_bytes = n->type_bytes = 5 * MB;
	n->type_objects = 1000;
	n->free_bytes = n->largest_free_bytes = n->pinned_objects = n->large_bytes = n->large_free_bytes = 0;
	n->timers = n->timer_bytes = n->timer_old_percent = n->sources = n->source_bytes = n->source_old_percent = 0;
	n->load_contexts = n->load_context_bytes = n->unloading_contexts = n->trackers = n->tracker_bytes = n->tracked_entities = 0;
	n->scopes = n->disposables = n->disposable_bytes = n->handlers = n->handler_bytes = 0;
	rules_set_text(&n->holder, "static Shop.Cache._items");
	rules_set_text(&n->type, "Order");
	rules_set_text(&n->unheld_words, "garbage, not yet collected");
	rules_set_text(&n->event, "PriceFeed.Changed");
}

static void set_all(struct survivors_numbers *n, const struct set *sets)
{
	for (; sets->at != END; sets++)
		memcpy((char *)n + sets->at, &sets->value, sizeof sets->value);
}

static const struct row {
	const char *id;
	struct set sick[5]; /* just enough of each */
	struct set less[4]; /* one after the other, each alone makes it sound */
	const char *message;
	int score;
	enum finding_state state;
} rows[] = {
	{"PinnedObjects", {{AT(pinned_objects), 100}, {AT(free_bytes), 25 * MB}, {END, 0}},
	 {{AT(pinned_objects), 99}, {AT(free_bytes), 24.9 * MB}, {END, 0}}, "100 pinned objects leave 25 MB of 125 MB of the heap free", 20, FINDING_FOUND},
	{"HeapFragmentation", {{AT(free_bytes), 100 * MB}, {END, 0}}, {{AT(free_bytes), 99 * MB}, {END, 0}},
	 "100 MB of 200 MB of the heap are free space between objects", 50, FINDING_FOUND},
	{"LargeObjects", {{AT(large_bytes), 24 * MB}, {AT(large_free_bytes), 12 * MB}, {AT(free_bytes), 12 * MB}, {END, 0}},
	 {{AT(large_bytes), 15 * MB}, {AT(large_bytes), 29 * MB}, {AT(large_free_bytes), 9.9 * MB}, {END, 0}},
	 "12 MB of 36 MB of the large object heap are gaps between arrays", 10, FINDING_FOUND},
	{"DisposablesInContainer", {{AT(disposables), 1000}, {AT(disposable_bytes), 5 * MB}, {END, 0}},
	 {{AT(disposables), 999}, {AT(disposable_bytes), 4.9 * MB}, {END, 0}},
	 "1,000 disposables of a service provider hold 5.0 MB of 100 MB", 5, FINDING_FOUND},
	{"TrackedEntities", {{AT(tracked_entities), 1000}, {AT(trackers), 1}, {AT(tracker_bytes), 20 * MB}, {END, 0}},
	 {{AT(tracked_entities), 999}, {AT(tracker_bytes), 19.9 * MB}, {END, 0}},
	 "1,000 entities tracked by one DbContext hold 20 MB of 100 MB", 20, FINDING_FOUND},
	{"EventHandlers", {{AT(handlers), 1000}, {AT(handler_bytes), 5 * MB}, {END, 0}}, {{AT(handlers), 999}, {AT(handler_bytes), 4.9 * MB}, {END, 0}},
	 "1,000 handlers of PriceFeed.Changed hold 5.0 MB of 100 MB", 5, FINDING_FOUND},
	{"TimersPileUp", {{AT(timers), 1000}, {AT(timer_bytes), 10 * MB}, {AT(timer_old_percent), 50}, {END, 0}},
	 {{AT(timers), 999}, {AT(timer_bytes), 9.9 * MB}, {AT(timer_old_percent), 49}, {END, 0}},
	 "1,000 running timers hold 10 MB of 100 MB", 10, FINDING_FOUND},
	{"CancellationTokenSourcesPileUp", {{AT(sources), 1000}, {AT(source_bytes), 10 * MB}, {AT(source_old_percent), 50}, {END, 0}},
	 {{AT(sources), 999}, {AT(source_bytes), 9.9 * MB}, {AT(source_old_percent), 49}, {END, 0}},
	 "1,000 CancellationTokenSources hold 10 MB of 100 MB", 10, FINDING_FOUND},
	{"AssemblyLoadContextsKept", {{AT(load_contexts), 20}, {AT(unloading_contexts), 10}, {END, 0}},
	 {{AT(load_contexts), 19}, {AT(unloading_contexts), 9}, {END, 0}}, "20 collectible AssemblyLoadContexts are not unloaded", 30, FINDING_FOUND},
	{"AssemblyLoadContextsKept", {{AT(load_contexts), 100}, {END, 0}}, {{AT(load_contexts), 99}, {END, 0}},
	 "100 collectible AssemblyLoadContexts are not unloaded", 30, FINDING_POSSIBLE},
	{"HeldByOneHolder", {{AT(holder_bytes), 25 * MB}, {END, 0}}, {{AT(holder_bytes), 24.9 * MB}, {END, 0}},
	 "25 MB of 100 MB are held by static Shop.Cache._items", 20, FINDING_FOUND},
	{"NotCollectedYet", {{AT(unheld_bytes), 50 * MB}, {END, 0}}, {{AT(unheld_bytes), 49.9 * MB}, {AT(holder_bytes), 25 * MB}, {END, 0}},
	 "50 MB of 100 MB are garbage, not yet collected", 15, FINDING_FOUND},
	{"HeldTogether", {{AT(shared_bytes), 40 * MB}, {END, 0}}, {{AT(shared_bytes), 39.9 * MB}, {AT(holder_bytes), 25 * MB}, {END, 0}},
	 "40 MB of 100 MB are held by several roots together", 28, FINDING_FOUND},
	{"OneType", {{AT(type_bytes), 30 * MB}, {END, 0}}, {{AT(type_bytes), 29.9 * MB}, {AT(holder_bytes), 25 * MB}, {AT(shared_bytes), 40 * MB}, {END, 0}},
	 "30 MB of 100 MB are Order x 1,000, from many holders", 15, FINDING_FOUND},
};

static const struct finding *judge(struct survivors_numbers *n, const char *id, struct findings *found)
{
	rules_run(survivors_rules, survivors_rules_count, &survivors_numbers_fields, n, found);
	for (size_t i = 0; i < found->count; i++)
		if (strcmp(found->list[i].id, id) == 0)
			return &found->list[i];
	cr_assert(false, "no rule %s", id);
	return NULL;
}

Test(survivors_rules, at_both_sides_of_each_threshold)
{
	struct survivors_numbers n;
	struct findings found;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];
		make_sound(&n);
		set_all(&n, r->sick);
		const struct finding *f = judge(&n, r->id, &found);
		cr_expect_eq(f->state, r->state, "%s: %s", r->id, finding_state_name(f->state));
		cr_expect_eq(f->score, r->score, "%s: %d", r->id, f->score);
		cr_expect_str_eq(f->message, r->message);
		cr_expect_leq(phrase_chars(f->message), HEADLINE_MAX_CHARS);
		cr_expect_gt(strlen(f->evidence), 0, "%s", r->id);
		findings_fini(&found);
		for (const struct set *less = r->less; less->at != END; less++) {
			make_sound(&n);
			set_all(&n, r->sick);
			memcpy((char *)&n + less->at, &less->value, sizeof less->value);
			f = judge(&n, r->id, &found);
			cr_expect_eq(f->state, FINDING_EXCLUDED, "%s, %zu: %s", r->id, (size_t)(less - r->less), finding_state_name(f->state));
			cr_expect(strlen(f->message) && strlen(f->evidence), "%s says what excludes it", r->id);
			findings_fini(&found);
		}
	}
}

Test(survivors_rules, each_has_a_row)
{
	for (size_t i = 0; i < survivors_rules_count; i++) {
		bool there = false;
		for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
			there |= strcmp(rows[k].id, survivors_rules[i].id) == 0;
		cr_expect(there, "%s", survivors_rules[i].id);
	}
}

Test(survivors_rules, nothing_is_wrong_with_a_sound_heap)
{
	struct survivors_numbers n;
	struct findings found;
	make_sound(&n);
	rules_run(survivors_rules, survivors_rules_count, &survivors_numbers_fields, &n, &found);
	cr_expect_null(findings_lead(&found));
	findings_fini(&found);
}

/* What is not known is never found, nor excluded. */
Test(survivors_rules, what_was_not_measured)
{
	static const struct {
		struct set sets[3];
		const char *not_measured[6];
	} some[] = {
		{{{AT(holders_known), 0}, {AT(pinned_objects), NAN}, {END, 0}},
		 {"PinnedObjects", "DisposablesInContainer", "EventHandlers", "HeldByOneHolder", "NotCollectedYet", "HeldTogether"}},
		{{{AT(seen_percent), 43}, {AT(free_bytes), NAN}, {END, 0}},
		 {"PinnedObjects", "HeapFragmentation", "LargeObjects", "TrackedEntities", "TimersPileUp", "AssemblyLoadContextsKept"}},
		{{{AT(unread_bytes), 25 * MB}, {AT(unheld_bytes), 60 * MB}, {END, 0}}, {"HeldByOneHolder", "NotCollectedYet", "OneType"}},
	};
	for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
		struct survivors_numbers n;
		struct findings found;
		make_sound(&n);
		set_all(&n, some[i].sets);
		for (size_t k = 0; k < 6 && some[i].not_measured[k]; k++) {
			const struct finding *f = judge(&n, some[i].not_measured[k], &found);
			cr_expect_eq(f->state, FINDING_NOT_MEASURED, "%s: %s", f->id, finding_state_name(f->state));
			cr_expect_gt(strlen(f->message), 0);
			findings_fini(&found);
		}
	}
	struct survivors_numbers n;
	make_sound(&n);
	n.unread_bytes = 24 * MB;
	cr_expect_not(survivors_rules_unread(&n));
	n.unread_bytes = 25 * MB;
	cr_expect(survivors_rules_unread(&n));
	n.holder_bytes = 25 * MB;
	cr_expect_not(survivors_rules_unread(&n), "a holder is known all the same");
}

Test(survivors_rules, a_small_heap_has_no_holder_worth_a_word)
{
	struct survivors_numbers n;
	struct findings found;
	make_sound(&n);
	n.heap_bytes = n.holder_bytes = 999999;
	cr_expect_eq(judge(&n, "HeldByOneHolder", &found)->state, FINDING_EXCLUDED);
	cr_expect(survivors_rules_small(&n));
	findings_fini(&found);
	n.heap_bytes = 1000000;
	cr_expect_eq(judge(&n, "HeldByOneHolder", &found)->state, FINDING_FOUND);
	findings_fini(&found);
}

/* A disease that has a name explains more than who holds it. */
Test(survivors_rules, the_named_one_leads)
{
	struct survivors_numbers n;
	struct findings found;
	make_sound(&n);
	n.holder_bytes = 95 * MB;
	n.timers = 20000;
	n.timer_old_percent = 90;
	n.timer_bytes = 80 * MB;
	rules_run(survivors_rules, survivors_rules_count, &survivors_numbers_fields, &n, &found);
	cr_expect_str_eq(findings_lead(&found)->id, "TimersPileUp");
	findings_fini(&found);
	n.timer_bytes = 20 * MB;
	rules_run(survivors_rules, survivors_rules_count, &survivors_numbers_fields, &n, &found);
	cr_expect_str_eq(findings_lead(&found)->id, "HeldByOneHolder");
	findings_fini(&found);
}

Test(survivors_rules, captures_of_real_applications)
{
	struct survivors_numbers n;
	check_captures("survivors", survivors_rules, survivors_rules_count, &survivors_numbers_fields, &n);
}
