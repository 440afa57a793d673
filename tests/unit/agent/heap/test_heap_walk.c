#include "agent/heap/heap_choice.h"
#include "agent/heap/heap_client.h"
#include "agent/heap/heap_forecast.h"
#include "agent/heap/heap_label.h"
#include "agent/heap/heap_walk.h"
#include "common/api/reason.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define MS(x) ((uint64_t)(x)*1000)
#define MB (INT64_C(1) << 20)

static const struct heap_room room = {INT64_MAX, 0, 552 * MB, INT64_MAX};

Test(heap_walk, the_way_that_fits_the_budget)
{
	static const struct {
		const char *what;
		uint32_t flags;
		uint64_t walk_ms, collection_ms;
		enum heap_roots roots;
		int64_t budget_ms;
		int way; /* -1: refused */
		const char *reason, *said;
	} rows[] = {
		{"both fit", 3, 100, 300, HEAP_ROOTS_AUTO, 500, HEAP_WAY_EXACT, NULL, "its predicted stop fits the pause budget"},
		{"the exact one does not", 3, 100, 600, HEAP_ROOTS_AUTO, 500, HEAP_WAY_NO_COLLECTION, NULL,
		 "a forced collection would stop for longer than the pause budget"},
		{"neither does", 3, 501, 600, HEAP_ROOTS_AUTO, 500, -1, "HeapTooLarge", "a pauseBudgetMilliseconds of 627 would do"},
		{"each alone fits, but they follow each other", 3, 200, 301, HEAP_ROOTS_EXACT, 500, -1, "HeapTooLarge",
		 "a pauseBudgetMilliseconds of 627 would do"},
		{"asked for, and does not", 3, 100, 600, HEAP_ROOTS_EXACT, 500, -1, "HeapTooLarge", "a pauseBudgetMilliseconds of 876 would do"},
		{"asked for", 3, 100, 300, HEAP_ROOTS_NO_COLLECTION, 500, HEAP_WAY_NO_COLLECTION, NULL, "asked for"},
		{"asked for", 3, 100, 300, HEAP_ROOTS_EXACT, 500, HEAP_WAY_EXACT, NULL, "asked for"},
		{"at the bound", 3, 200, 300, HEAP_ROOTS_EXACT, 500, HEAP_WAY_EXACT, NULL, "asked for"},
		{"no budget", 3, 50000, 50000, HEAP_ROOTS_AUTO, 0, HEAP_WAY_EXACT, NULL, "its predicted stop fits the pause budget"},
		{"8 has one way", HEAP_CAN_COLLECT, 0, 300, HEAP_ROOTS_NO_COLLECTION, 500, HEAP_WAY_EXACT, NULL,
		 "the heap of .NET 8 can only be walked in a collection"},
		{"8, too large", HEAP_CAN_COLLECT, 0, 600, HEAP_ROOTS_AUTO, 500, -1, "HeapTooLarge", "a pauseBudgetMilliseconds of 751 would do"},
		{"beside another profiler", HEAP_CAN_WALK, 100, 300, HEAP_ROOTS_AUTO, 500, HEAP_WAY_NO_COLLECTION, NULL,
		 "another profiler has the process's main slot"},
		{"beside another profiler, too large", HEAP_CAN_WALK, 100, 300, HEAP_ROOTS_NO_COLLECTION, 200, -1, "HeapTooLarge",
		 "a pauseBudgetMilliseconds of 501 would do"},
		{"beside another profiler, exactly", HEAP_CAN_WALK, 100, 300, HEAP_ROOTS_EXACT, 500, -1, "ProfilerAlreadyActive",
		 "roots can only be known without a collection"},
		{"beside another profiler that has seen no collection in the background", HEAP_CAN_WALK | HEAP_QUIET, 100, 300, HEAP_ROOTS_NO_COLLECTION, 200,
		 HEAP_WAY_NO_COLLECTION, NULL, "asked for"},
		{"beside another profiler, on 8", 0, 100, 300, HEAP_ROOTS_AUTO, 500, -1, "ProfilerAlreadyActive", "cannot be walked"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct heap_prediction p = {.flags = rows[i].flags, .walk_us = MS(rows[i].walk_ms), .collection_us = MS(rows[i].collection_ms)};
		struct heap_choice c = {0};
		struct err e = ERR_INIT;
		const struct heap_walk_options o = {.roots = rows[i].roots, .budget_ms = rows[i].budget_ms, .graph = true};
		int r = heap_choice_make(&p, &o, &room, &c, &e);
		cr_expect_eq(r, rows[i].way < 0 ? -1 : 0, "%s", rows[i].what);
		if (r == 0) {
			cr_expect_eq((int)c.way, rows[i].way, "%s", rows[i].what);
			cr_expect_str_eq(c.why, rows[i].said, "%s", rows[i].what);
		} else {
			cr_expect_str_eq(e.reason, rows[i].reason, "%s", rows[i].what);
			cr_expect_not_null(strstr(e.message, rows[i].said), "%s: %s", rows[i].what, e.message);
		}
	}
}

/* DuplicatedStrings has no setting for roots, and .NET 8 no other way. */
Test(heap_walk, a_refusal_names_another_way_only_to_who_can_take_it)
{
	static const struct {
		enum heap_roots roots;
		uint32_t flags;
		bool other;
	} rows[] = {{HEAP_ROOTS_EXACT, 3, true}, {HEAP_ROOTS_EXACT, HEAP_CAN_COLLECT, false}, {HEAP_ROOTS_NO_COLLECTION, 3, false},
		    {HEAP_ROOTS_AUTO, 3, false}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct heap_prediction p = {.flags = rows[i].flags, .probe_us = MS(8), .walk_us = MS(592), .collection_us = MS(900)};
		const struct heap_walk_options o = {.roots = rows[i].roots, .budget_ms = 100, .strings = rows[i].roots == HEAP_ROOTS_NO_COLLECTION};
		struct heap_choice c = {0};
		struct err e = ERR_INIT;
		cr_assert_eq(heap_choice_make(&p, &o, &room, &c, &e), -1);
		cr_expect_eq(strstr(e.message, "; roots: NoCollection would stop it for about 600 ms") != NULL, rows[i].other, "row %zu: %s", i, e.message);
		cr_expect_eq(strstr(e.message, "NoCollection") != NULL, rows[i].other, "row %zu: %s", i, e.message);
	}
	cr_expect_null(strstr(reason_remedy(REASON_HeapTooLarge), "roots"), "%s", reason_remedy(REASON_HeapTooLarge));
}

Test(heap_walk, the_look_counts_with_what_follows_it)
{
	struct heap_prediction p = {.flags = 3, .probe_us = MS(8), .walk_us = MS(100), .collection_us = MS(300)};
	const struct heap_walk_options o = {.roots = HEAP_ROOTS_NO_COLLECTION, .budget_ms = 108, .graph = true};
	struct heap_choice c = {0};

	cr_expect_eq(heap_choice_make(&p, &o, &room, &c, NULL), 0);
	cr_expect_eq(c.predicted_us, 108000);
	p.probe_us++;
	cr_expect_eq(heap_choice_make(&p, &o, &room, &c, NULL), -1);
}

Test(heap_walk, types_alone_where_the_graph_does_not_fit)
{
	static const struct heap_room small = {134 * MB, 192 * MB, 134 * MB, INT64_MAX}, full = {INT64_MAX, 0, 552 * MB, 1};
	static const struct {
		const char *what;
		uint32_t flags;
		uint64_t walk_ms, types_ms, objects;
		enum heap_roots roots;
		bool types;
		const struct heap_room *room;
		int way; /* -1: refused */
		const char *said;
		int64_t predicted_ms, budget_ms;
		bool memory, files;
	} rows[] = {
		{"all fits", 3, 100, 30, 1000000, HEAP_ROOTS_AUTO, true, &room, HEAP_WAY_EXACT, "fits the pause budget", 400, 0, false, false},
		{"the stop", 3, 900, 300, 20000000, HEAP_ROOTS_AUTO, true, &room, HEAP_WAY_TYPES,
		 "longer than the pause budget", 300, 1126, false, false},
		{"not even the types fit", 3, 9000, 3000, 20000000, HEAP_ROOTS_AUTO, true, &room, HEAP_WAY_TYPES,
		 "longer than the pause budget", 500, 11251,
		 false, false},
		{"memory", 3, 100, 30, 10000000, HEAP_ROOTS_AUTO, true, &small, HEAP_WAY_TYPES, "does not fit into the agent's memory", 30, 0, true, false},
		{"disk", 3, 100, 30, 10000000, HEAP_ROOTS_AUTO, true, &full, HEAP_WAY_TYPES, "does not fit into the agent's memory", 30, 0, false, true},
		{"stop and memory", 3, 900, 300, 10000000, HEAP_ROOTS_AUTO, true, &small, HEAP_WAY_TYPES,
		 "longer than the pause budget", 300, 1126, true, false},
		{"holders were asked for", 3, 900, 300, 1000000, HEAP_ROOTS_EXACT, true, &room, -1,
		 "a pauseBudgetMilliseconds of", 0, 0, false, false},
		{"holders were asked for, memory", 3, 100, 30, 10000000, HEAP_ROOTS_NO_COLLECTION, true, &small, -1,
		 "a limit of 2", 0, 0, false, false},
		{"types will not do", 3, 900, 300, 1000000, HEAP_ROOTS_AUTO, false, &room, -1,
		 "a pauseBudgetMilliseconds of 1126", 0, 0, false, false},
		{"types will not do, disk", 3, 100, 30, 10000000, HEAP_ROOTS_AUTO, false, &full, -1, "MB for files", 0, 0, false, false},
		{"8 cannot", HEAP_CAN_COLLECT, 900, 0, 0, HEAP_ROOTS_AUTO, true, &room, -1, "a pauseBudgetMilliseconds of", 0, 0, false, false},
		{"nor can it beside another profiler", HEAP_CAN_WALK, 900, 300, 1000000, HEAP_ROOTS_AUTO, true, &room, -1,
		 "pauseBudgetMilliseconds", 0, 0, false,
		 false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct heap_prediction p = {.flags = rows[i].flags, .walk_us = MS(rows[i].walk_ms), .collection_us = MS(rows[i].walk_ms * 3),
						  .types_us = MS(rows[i].types_ms), .objects = rows[i].objects};
		const struct heap_walk_options o = {.roots = rows[i].roots, .budget_ms = 500, .graph = true, .types = rows[i].types};
		struct heap_choice c = {0};
		struct err e = ERR_INIT;
		int r = heap_choice_make(&p, &o, rows[i].room, &c, &e);
		cr_expect_eq(r, rows[i].way < 0 ? -1 : 0, "%s", rows[i].what);
		cr_expect_not_null(strstr(r < 0 ? e.message : c.why, rows[i].said), "%s: %s", rows[i].what, r < 0 ? e.message : c.why);
		if (r < 0) {
			cr_expect_str_eq(e.reason, rows[i].room == &room ? "HeapTooLarge" : "HeapTooLargeForAgent", "%s", rows[i].what);
			continue;
		}
		cr_expect_eq((int)c.way, rows[i].way, "%s", rows[i].what);
		cr_expect_eq(c.predicted_us, rows[i].predicted_ms * 1000, "%s: %lld", rows[i].what, (long long)c.predicted_us);
		cr_expect_eq(c.needs.budget_ms, rows[i].budget_ms, "%s: %lld", rows[i].what, (long long)c.needs.budget_ms);
		cr_expect_eq(c.needs.limit_bytes != 0, rows[i].memory, "%s", rows[i].what);
		cr_expect_eq(c.needs.file_bytes != 0, rows[i].files, "%s", rows[i].what);
	}
}

Test(heap_walk, a_predicted_stop_has_the_stacks_in_it_as_far_as_the_budget_allows)
{
	const struct heap_walk_options o = {.roots = HEAP_ROOTS_NO_COLLECTION, .budget_ms = 500};
	struct heap_prediction p = {.flags = 3, .walk_us = MS(100), .stacks_us = MS(300)};
	struct heap_choice c;

	cr_assert_eq(heap_choice_make(&p, &o, &room, &c, NULL), 0);
	cr_expect_eq(c.predicted_us, (int64_t)MS(400));
	p.stacks_us = MS(3000);
	cr_assert_eq(heap_choice_make(&p, &o, &room, &c, NULL), 0);
	cr_expect_eq(c.predicted_us, (int64_t)MS(500));
}

Test(heap_walk, no_walk_is_refused_by_the_first_look)
{
	static const struct {
		const char *what;
		uint32_t flags;
		uint64_t walk_ms, objects;
		struct heap_walk_options o;
		unsigned looks; /* in all, when each says the same */
	} rows[] = {
		{"fits", 3, 500, 1, {.roots = HEAP_ROOTS_AUTO, .budget_ms = 500}, 1},
		{"a little too long", 3, 501, 1, {.roots = HEAP_ROOTS_AUTO, .budget_ms = 500}, 3},
		{"too long by far", 3, 2001, 1, {.roots = HEAP_ROOTS_AUTO, .budget_ms = 500}, 2},
		{"types alone will do, but are less", 3, 2001, 1, {.roots = HEAP_ROOTS_AUTO, .budget_ms = 500, .types = true}, 2},
		{"nothing but types is asked for", 3, 2001, 1, {.roots = HEAP_ROOTS_AUTO, .budget_ms = 500, .types = true, .types_only = true}, 1},
		{"any budget", 3, 501, 1, {.roots = HEAP_ROOTS_AUTO}, 1},
		{"nothing was seen", 3, 0, 0, {.roots = HEAP_ROOTS_AUTO}, 3},
		{"exact, too long with its collection", 3, 200, 1, {.roots = HEAP_ROOTS_EXACT, .budget_ms = 500}, 3},
		{"exact, fits", 3, 100, 1, {.roots = HEAP_ROOTS_EXACT, .budget_ms = 500}, 1},
		{"exact, which is not possible", HEAP_CAN_WALK, 100, 1, {.roots = HEAP_ROOTS_EXACT, .budget_ms = 50}, 1},
		{"8 has nothing to look at", HEAP_CAN_COLLECT, 0, 0, {.roots = HEAP_ROOTS_AUTO, .budget_ms = 500}, 1},
		{"no room for its graph", 3, 100, 4000000000, {.roots = HEAP_ROOTS_AUTO, .budget_ms = 500, .graph = true}, 3},
	};
	const struct heap_room little = {.memory_bytes = 1 << 30, .limit_bytes = 1 << 30, .file_bytes = 1 << 30};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct heap_prediction p = {.flags = rows[i].flags, .walk_us = MS(rows[i].walk_ms), .collection_us = MS(rows[i].walk_ms * 3),
						  .objects = rows[i].objects};
		unsigned looks = 1;
		while (heap_forecast_again(&p, &rows[i].o, &little, looks))
			looks++;
		cr_expect_eq(looks, rows[i].looks, "%s: %u", rows[i].what, looks);
	}
}

Test(heap_walk, looks_after_the_first_are_longer)
{
	const struct heap_walk_options o = {.budget_ms = 800}, any = {0};

	cr_expect_eq(heap_forecast_look(&o, 0).look_us, 0);
	cr_expect(heap_forecast_look(&o, 1).look_us == MS(100) && heap_forecast_look(&o, 2).look_us == MS(100));
	cr_expect_eq(heap_forecast_look(&o, 1).budget_us, MS(800));
	cr_expect(heap_forecast_look(&any, 1).look_us > MS(8) && heap_forecast_look(&any, 1).budget_us == 0);
}

Test(heap_walk, a_prediction_is_revised_when_all_objects_are_counted)
{
	struct heap_prediction p = {.flags = 3, .walk_us = MS(4000), .collection_us = MS(9000), .types_us = MS(1000), .objects = 40000000};
	const struct heap_walk_options o = {.roots = HEAP_ROOTS_AUTO, .budget_ms = 500, .graph = true, .types = true};
	struct heap_choice c;

	heap_choice_revise(&p, 4000000);
	cr_expect(p.walk_us == MS(400) && p.collection_us == MS(900) && p.objects == 4000000);
	cr_expect_eq(heap_choice_make(&p, &o, &room, &c, NULL), 0);
	cr_expect_eq(c.way, HEAP_WAY_NO_COLLECTION);
	p.objects = 0;
	heap_choice_revise(&p, 1);
	cr_expect_eq(p.walk_us, MS(400), "nothing was predicted");
}

Test(heap_walk, an_exact_walk_that_comes_to_nothing_gives_way)
{
	static const struct {
		const char *what;
		uint32_t flags;
		int walk_ms;
		enum heap_roots roots;
		unsigned tries;
		bool late, gives_way;
	} rows[] = {
		{"once more", 3, 100, HEAP_ROOTS_AUTO, 1, false, false},
		{"often enough", 3, 100, HEAP_ROOTS_AUTO, 2, false, true},
		{"late", 3, 100, HEAP_ROOTS_AUTO, 1, true, true},
		{"late, and the other way does not fit either", 3, 501, HEAP_ROOTS_AUTO, 1, true, false},
		{"exactness was asked for", 3, 100, HEAP_ROOTS_EXACT, 5, false, false},
		{"8 has one way", HEAP_CAN_COLLECT, 100, HEAP_ROOTS_AUTO, 5, false, false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct heap_prediction p = {.flags = rows[i].flags, .walk_us = MS(rows[i].walk_ms)};
		struct heap_choice c = {.way = HEAP_WAY_EXACT, .why = "fits"};
		cr_expect_eq(heap_choice_give_way(&p, rows[i].roots, 500, rows[i].tries, rows[i].late, &c), rows[i].gives_way, "%s", rows[i].what);
		cr_expect_eq(c.way, rows[i].gives_way ? HEAP_WAY_NO_COLLECTION : HEAP_WAY_EXACT, "%s", rows[i].what);
		cr_expect(!heap_choice_give_way(&p, rows[i].roots, 500, 6, rows[i].late, &c) || !rows[i].gives_way, "%s: only once", rows[i].what);
	}
}

Test(heap_label, fields_are_called_as_the_user_calls_them)
{
	static const char *const rows[][2] = {
		{"_items", "_items"}, {"<Items>k__BackingField", "Items"}, {"[].<Key>k__BackingField", "[].Key"}, {"[].Value", "[].Value"},
		{"<>k__BackingField", "<>k__BackingField"}, {"<", "<"}, {"", ""}, {"_entry.Value", "_entry.Value"},
		{"<First>k__BackingField.<Note>k__BackingField", "First.Note"}, {"[].<A>k__BackingField._b.<C>k__BackingField", "[].A._b.C"},
		{"<Shop.IOrder.Id>k__BackingField", "Shop.IOrder.Id"}, {".", "."}, {"a.", "a."},
		{"StateMachine.<page>5__2", "StateMachine.page"}, {"<page>5__", "<page>5__"}, {"<page>5__x", "<page>5__x"}, {"<>5__2", "<>5__2"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *name = heap_label_field(rows[i][0], strlen(rows[i][0]));
		cr_expect_str_eq(name, rows[i][1], "%s", rows[i][0]);
		free(name);
	}
}
