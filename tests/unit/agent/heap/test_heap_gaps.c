#include "agent/heap/heap_gaps.h"
#include "profiler/clr/runtime_known.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct {
	struct heap_gap gap;
	const char *name, *roots, *names; /* NULL: not said */
} rows[] = {
	{{HEAP_GAP_THREADS, 9000, 8192}, "threads", "of 808 of 9000 threads were not read", NULL},
	{{HEAP_GAP_STACKS, 1000, 250}, "stacks", "of 750 of 1000 threads were not read within the pause budget", NULL},
	{{HEAP_GAP_STATICS, 40000, 32768}, "staticFields", "7232 of 40000 static fields were not read", "without their name"},
	{{HEAP_GAP_THREAD_STATICS, 500, 20}, "threadStatics", "not read to their end", NULL},
	{{HEAP_GAP_HANDLES, 0, 0}, "handles", "were not all found or read", NULL},
	{{HEAP_GAP_MEMORY, 0, 0}, "ownMemory", "cannot read its own memory", "have no names"},
	{{HEAP_GAP_RUNTIME, 10, 11}, "runtimeVersion", "Runtime 11 is newer than this version knows (10): handles and statics", "have no names"},
	{{HEAP_GAP_BARE_TYPES, 12, 0}, "threadForNames", "of 12 types without methods were not read", "have no names"},
};

static struct limits note(const struct heap_gap *gap, enum heap_way way)
{
	struct heap_walked w = {.walk_us = 90000, .stacks_us = 40000, .gap_count = 1};
	struct limits l = {0};

	w.gaps[0] = *gap;
	heap_gaps_note(&w, way, &l);
	return l;
}

Test(heap_gaps, each_is_said_in_a_sentence)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct limits roots = note(&rows[i].gap, HEAP_WAY_NO_COLLECTION), names = note(&rows[i].gap, HEAP_WAY_EXACT);
		cr_assert_eq(roots.count, 1);
		cr_expect_str_eq(roots.list[0].name, rows[i].name);
		cr_expect_not_null(strstr(roots.list[0].meaning, rows[i].roots), "%s", roots.list[0].meaning);
		cr_expect_lt(strlen(roots.list[0].meaning), LIMIT_MEANING_BYTES - 1, "it is not cut");
		cr_assert_eq(names.count, rows[i].names != NULL, "%s", rows[i].name);
		if (rows[i].names)
			cr_expect_not_null(strstr(names.list[0].meaning, rows[i].names), "%s", names.list[0].meaning);
		cr_expect_eq(note(&rows[i].gap, HEAP_WAY_TYPES).count, 0);
		const struct heap_walked lacking = {.gap_count = 1, .gaps = {rows[i].gap}};
		cr_expect_eq(heap_gaps_hide_names(&lacking, HEAP_WAY_EXACT), rows[i].names != NULL, "%s", rows[i].name);
		cr_expect_not(heap_gaps_hide_names(&lacking, HEAP_WAY_NO_COLLECTION));
	}
}

Test(heap_gaps, the_budget_that_would_do_for_all_stacks)
{
	const struct limits l = note(&rows[1].gap, HEAP_WAY_NO_COLLECTION);

	/* 50 ms without them, 160 ms for all of them, a quarter more */
	cr_expect_not_null(strstr(l.list[0].meaning, "A pauseBudgetMilliseconds of 263 may do"), "%s", l.list[0].meaning);
}

Test(heap_gaps, what_no_known_root_holds_is_garbage_only_where_all_roots_are_known)
{
	const struct heap_walked whole = {0}, lacking = {.gap_count = 1};
	const struct heap_facts facts[] = {{.way = HEAP_WAY_EXACT}, {.way = HEAP_WAY_NO_COLLECTION}, {.way = HEAP_WAY_NO_COLLECTION, .roots_unread = true}};

	cr_expect(heap_gaps_hide_roots(&lacking, HEAP_WAY_NO_COLLECTION));
	cr_expect_not(heap_gaps_hide_roots(&whole, HEAP_WAY_NO_COLLECTION));
	cr_expect_not(heap_gaps_hide_roots(&lacking, HEAP_WAY_EXACT));
	cr_expect_not(heap_gaps_hide_roots(&lacking, HEAP_WAY_TYPES));
	cr_expect_not(heap_gaps_hide_names(&whole, HEAP_WAY_EXACT));
	cr_expect_str_eq(heap_facts_unheld(&facts[0]), "garbage, not yet collected");
	cr_expect_str_eq(heap_facts_unheld(&facts[1]), "held by a handle, or garbage");
	cr_expect_str_eq(heap_facts_unheld(&facts[2]), "held by a root that was not read, or garbage");
}

Test(heap_gaps, come_over_the_wire_within_their_bounds)
{
	struct heap_walked in = {.walk_us = 5, .walk_cpu_us = 4, .stacks_us = 3, .gap_count = HEAP_GAPS_MAX}, out;
	uint8_t bytes[512];
	struct wire_writer w;

	for (uint32_t i = 0; i < HEAP_GAPS_MAX; i++)
		in.gaps[i] = (struct heap_gap){.kind = (uint8_t)(i + 1), .due = UINT32_MAX, .seen = i};
	wire_writer_init(&w, bytes, sizeof bytes);
	heap_put_walked(&w, &in);
	struct channel_frame f = {.type = HEAP_FRAME_WALKED, .payload = bytes, .len = w.pos};
	cr_assert(heap_get_walked(&f, &out));
	cr_expect(out.gap_count == HEAP_GAPS_MAX && out.gaps[7].kind == HEAP_GAP_BARE_TYPES && out.gaps[7].seen == 7 && out.stacks_us == 3);
	f.len--;
	cr_expect_not(heap_get_walked(&f, &out), "cut");
	f.len++;
	bytes[w.pos - 17] = HEAP_GAP_BARE_TYPES + 1;
	cr_expect_not(heap_get_walked(&f, &out), "no such kind");
	bytes[w.pos - 17] = HEAP_GAP_BARE_TYPES;
	bytes[w.pos - 1] = 1;
	cr_expect_not(heap_get_walked(&f, &out), "no such number");
	bytes[48] = HEAP_GAPS_MAX + 1;
	cr_expect_not(heap_get_walked(&f, &out), "too many");
}

Test(runtime_known, those_that_were_measured)
{
	static const struct {
		uint16_t major;
		bool known, sweepable;
	} versions[] = {{7, false, false}, {8, true, true},   {9, true, false},   {10, true, false},
			{11, true, false}, {12, false, false}, {0, false, false}};

	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
		cr_expect(runtime_known(versions[i].major) == versions[i].known && runtime_sweepable(versions[i].major) == versions[i].sweepable, "%u",
			  versions[i].major);
}
