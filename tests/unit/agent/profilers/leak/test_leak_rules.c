#include "agent/profilers/leak/leak_numbers.h"
#include "tests/unit/catalogue_capture.h"

#define MB 1000000.0

/* A process of an hour, three walks in two minutes, of which nothing grew. */
static struct leak_numbers healthy(void)
{
	struct leak_numbers n;
	rules_clear(&leak_numbers_fields, &n);
	n.walks = 3;
	n.seconds = 120;
	n.uptime_seconds = 3600;
	n.types_only = n.open_bytes = n.torn = n.kept_much = n.unmanaged_open = n.unmanaged_growing = n.unmanaged_bytes = n.kept_bytes = 0;
	n.held_bytes = n.event_bytes = n.timer_bytes = n.token_bytes = n.async_bytes = n.container_bytes = n.context_bytes = 0;
	n.timers_first = n.timers_last = n.tokens_first = n.tokens_last = n.entities_first = n.entities_last = n.loaders_more = 0;
	n.live_bytes = 100 * MB;
	n.limit_bytes = 512 * MB;
	n.bytes_per_minute = 0;
	return n;
}

static enum finding_state state_of(const struct leak_numbers *n, const char *id, int *score)
{
	struct findings f;
	enum finding_state found = FINDING_NOT_MEASURED;
	catalogue_judge("MemoryLeak", &leak_numbers_fields, n, &f);
	*score = -1;
	for (size_t i = 0; i < f.count; i++) {
		if (strcmp(f.list[i].id, id) != 0)
			continue;
		found = f.list[i].state;
		*score = f.list[i].score;
		cr_expect(f.list[i].message[0], "%s says nothing", id);
	}
	findings_fini(&f);
	return found;
}

#define IS(n, id, state)                                                                                   \
	do {                                                                                               \
		int is_score;                                                                              \
		cr_expect_str_eq(finding_state_name(state_of(&(n), id, &is_score)), finding_state_name(state), \
				 "line %d: %s", __LINE__, id);                                             \
	} while (0)

Test(leak_rules, exclude_all_of_a_healthy_process)
{
	struct leak_numbers n = healthy();
	struct findings f;
	catalogue_judge("MemoryLeak", &leak_numbers_fields, &n, &f);
	cr_expect_null(findings_lead(&f));
	for (size_t i = 0; i < f.count; i++)
		cr_expect_eq(f.list[i].state, FINDING_EXCLUDED, "%s: %s", f.list[i].id, f.list[i].message);
	findings_fini(&f);
}

Test(leak_rules, two_walks_exclude_nothing_that_may_grow)
{
	static const char *const ids[] = {"MemoryLeak",	  "EventHandlers",	"TimersPileUp",	      "CancellationTokenSourcesPileUp", "AsyncCallsNeverEnd",
					  "DisposablesInContainer", "NativeMemoryGrowth", "TrackedEntities", "AssemblyLoadContextsKept"};
	struct leak_numbers n = healthy();
	n.walks = 2;
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		IS(n, ids[i], FINDING_NOT_MEASURED);
	n.walks = 1;
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		IS(n, ids[i], FINDING_NOT_MEASURED);
	IS(n, "NoMemoryLimit", FINDING_NOT_MEASURED);
	IS(n, "HeapKeepsFreeMemory", FINDING_NOT_MEASURED);
	IS(n, "HeapFragmentation", FINDING_NOT_MEASURED);
}

Test(leak_rules, growth_and_its_witnesses)
{
	struct leak_numbers n = healthy();
	int score;
	n.held_bytes = 1;
	rules_set_text(&n.held_line, "static Shop.Cache grows");
	IS(n, "MemoryLeak", FINDING_FOUND);
	n.walks = 2;
	IS(n, "MemoryLeak", FINDING_POSSIBLE);
	n.walks = 3;
	n.types_only = 1;
	IS(n, "MemoryLeak", FINDING_POSSIBLE);
	n.types_only = 0;
	n.uptime_seconds = 59.9;
	IS(n, "MemoryLeak", FINDING_POSSIBLE);
	n.uptime_seconds = 60;
	IS(n, "MemoryLeak", FINDING_FOUND);
	n.uptime_seconds = NAN;
	IS(n, "MemoryLeak", FINDING_FOUND);
	n.held_bytes = 30 * MB;
	n.unmanaged_bytes = n.unmanaged_growing = 70 * MB;
	rules_set_text(&n.unmanaged_line, "Unmanaged memory grows");
	state_of(&n, "MemoryLeak", &score);
	cr_expect_eq(score, 30);
	state_of(&n, "NativeMemoryGrowth", &score);
	cr_expect_eq(score, 70);
	n = healthy(); /* a cache that fills is neither found nor excluded */
	n.open_bytes = 20 * MB;
	rules_set_text(&n.open_why, "it slows down");
	IS(n, "MemoryLeak", FINDING_NOT_MEASURED);
}

Test(leak_rules, each_kind_by_its_bytes)
{
	struct leak_numbers n = healthy();
	struct {
		const char *id;
		double *bytes;
		struct rule_text *line;
	} kinds[] = {{"EventHandlers", &n.event_bytes, &n.event_line},	   {"TimersPileUp", &n.timer_bytes, &n.timer_line},
		     {"AsyncCallsNeverEnd", &n.async_bytes, &n.async_line}, {"CancellationTokenSourcesPileUp", &n.token_bytes, &n.token_line},
		     {"DisposablesInContainer", &n.container_bytes, &n.container_line}};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		IS(n, kinds[i].id, FINDING_EXCLUDED);
		*kinds[i].bytes = 1 * MB;
		rules_set_text(kinds[i].line, "They pile up");
		IS(n, kinds[i].id, FINDING_FOUND);
		IS(n, "MemoryLeak", FINDING_EXCLUDED);
	}
	n.types_only = 1;
	n.event_bytes = 0;
	IS(n, "EventHandlers", FINDING_NOT_MEASURED);
}

Test(leak_rules, thresholds_of_counts)
{
	struct leak_numbers n = healthy();
	n.timers_first = 5000;
	n.timers_last = 5999;
	IS(n, "TimersPileUp", FINDING_EXCLUDED);
	n.timers_last = 6000;
	IS(n, "TimersPileUp", FINDING_POSSIBLE);
	n.timers_first = 5001;
	n.timers_last = 6001;
	IS(n, "TimersPileUp", FINDING_EXCLUDED);
	n.tokens_first = 0;
	n.tokens_last = 999;
	IS(n, "CancellationTokenSourcesPileUp", FINDING_EXCLUDED);
	n.tokens_last = 1000;
	IS(n, "CancellationTokenSourcesPileUp", FINDING_POSSIBLE);

	n = healthy();
	n.entities_first = 8000;
	n.entities_last = 9999;
	n.entities_rise = 1;
	n.trackers_last = 1;
	IS(n, "TrackedEntities", FINDING_EXCLUDED);
	n.entities_last = 10000;
	IS(n, "TrackedEntities", FINDING_FOUND);
	n.trackers_last = 10;
	IS(n, "TrackedEntities", FINDING_FOUND);
	n.trackers_last = 11;
	IS(n, "TrackedEntities", FINDING_EXCLUDED);
	n.trackers_last = 1;
	n.entities_first = 8400;
	IS(n, "TrackedEntities", FINDING_EXCLUDED);
	n.entities_first = 8000;
	n.entities_rise = 0;
	IS(n, "TrackedEntities", FINDING_EXCLUDED);
	n.entity_bytes = 1 * MB;
	rules_set_text(&n.entity_line, "A DbContext tracks more");
	IS(n, "TrackedEntities", FINDING_FOUND);
}

Test(leak_rules, contexts)
{
	struct leak_numbers n = healthy();
	n.loaders_more = 2;
	n.loaders_rise = 1;
	IS(n, "AssemblyLoadContextsKept", FINDING_EXCLUDED);
	n.loaders_more = 3;
	IS(n, "AssemblyLoadContextsKept", FINDING_POSSIBLE);
	n.context_bytes = 1 * MB;
	IS(n, "AssemblyLoadContextsKept", FINDING_FOUND);
	n.unmanaged_bytes = n.unmanaged_growing = 2 * MB; /* the code that each brings is theirs */
	n.unmanaged_code = 1;
	int score;
	state_of(&n, "AssemblyLoadContextsKept", &score);
	cr_expect_eq(score, 100);
	n.unmanaged_code = 0;
	state_of(&n, "AssemblyLoadContextsKept", &score);
	cr_expect_eq(score, 33);
	n.loaders_rise = 0;
	IS(n, "AssemblyLoadContextsKept", FINDING_EXCLUDED);
}

Test(leak_rules, memory_beside_the_objects)
{
	struct leak_numbers n = healthy();
	n.kept_much = 1;
	n.kept_bytes = 50 * MB;
	rules_set_text(&n.kept_line, "It keeps memory");
	IS(n, "HeapKeepsFreeMemory", FINDING_FOUND);
	n.held_bytes = 1 * MB;
	rules_set_text(&n.held_line, "static Shop.Cache grows");
	struct findings f;
	catalogue_judge("MemoryLeak", &leak_numbers_fields, &n, &f);
	cr_expect_str_eq(findings_lead(&f)->id, "MemoryLeak");
	findings_fini(&f);
	n = healthy();
	n.gap_bytes = 40 * MB;
	IS(n, "HeapFragmentation", FINDING_EXCLUDED);
	n.torn = 1;
	rules_set_text(&n.torn_line, "Gaps");
	IS(n, "HeapFragmentation", FINDING_FOUND);
	n = healthy();
	n.unmanaged_bytes = n.unmanaged_growing = n.kept_bytes = NAN;
	IS(n, "NativeMemoryGrowth", FINDING_NOT_MEASURED);
	IS(n, "HeapKeepsFreeMemory", FINDING_NOT_MEASURED);
	n = healthy();
	n.unmanaged_open = 1;
	IS(n, "NativeMemoryGrowth", FINDING_NOT_MEASURED);
}

Test(leak_rules, no_limit_is_an_illness_of_what_grows_alone)
{
	struct leak_numbers n = healthy();
	n.limit_bytes = 0;
	IS(n, "NoMemoryLimit", FINDING_EXCLUDED);
	n.bytes_per_minute = 1;
	IS(n, "NoMemoryLimit", FINDING_FOUND);
	n.limit_bytes = 1;
	IS(n, "NoMemoryLimit", FINDING_EXCLUDED);
	n.limit_bytes = NAN;
	IS(n, "NoMemoryLimit", FINDING_NOT_MEASURED);
}

/* What refers to something of theirs may be a static field that was not read. */
Test(leak_rules, the_runtimes_own_handle_is_not_who_keeps_contexts)
{
	struct leak_numbers n;
	struct findings f;
	rules_clear(&leak_numbers_fields, &n);
	n.walks = 3;
	n.seconds = 60;
	n.loaders_more = 30;
	n.loaders_rise = 1;
	rules_set_text(&n.loaders_root, "handle");
	catalogue_judge("MemoryLeak", &leak_numbers_fields, &n, &f);
	cr_expect_str_eq(findings_lead(&f)->message, "AssemblyLoadContexts pile up: + 30");
	findings_fini(&f);
	rules_set_text(&n.loaders_root, "static Shop.Host.Plugins");
	catalogue_judge("MemoryLeak", &leak_numbers_fields, &n, &f);
	cr_expect_str_eq(findings_lead(&f)->message, "AssemblyLoadContexts pile up: + 30, retained by \u2026Host.Plugins");
	findings_fini(&f);
}

static void judge_leak(const struct rule_fields *fields, const void *numbers, struct findings *out)
{
	catalogue_judge("MemoryLeak", fields, numbers, out);
}

Test(leak_rules, judge_recorded_captures)
{
	struct leak_numbers n;
	const struct capture_judge by = {.fields = &leak_numbers_fields, .judge = judge_leak};
	check_group("MemoryLeak", &leak_numbers_fields);
	check_captures_by("leak", &by, &n);
}
