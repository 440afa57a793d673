#include "agent/heap/heap_share.h"

#include <criterion/criterion.h>

#define MS 1000u

Test(heap_share, a_limit_below_a_processor_makes_a_stop_stand_for_the_rest_of_each_period)
{
	static const struct {
		int64_t limit_millicores;
		bool used_up;
		uint64_t needs_ms, walk_ms, collection_ms; /* the longest that it may be: it cannot be given up */
	} rows[] = {
		{-1, false, 100, 100, 100}, {0, false, 100, 100, 100}, {1000, false, 300, 300, 300}, {4000, false, 300, 300, 300}, {500, false, 0, 0, 0},
		{500, false, 50, 50, 50}, {500, false, 51, 101, 101}, {500, false, 100, 150, 150}, {500, false, 231, 431, 431}, {500, true, 0, 0, 0},
		{500, true, 25, 25, 125}, {500, true, 26, 126, 126}, {500, true, 40, 140, 140}, {500, true, 100, 250, 250}, {4000, true, 100, 100, 200},
		{4000, true, 201, 301, 301}, {250, false, 100, 325, 325}, {1, false, 2, 1900, 1900}, {-1, true, 100, 100, 100},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct heap_share s = {rows[i].limit_millicores, rows[i].used_up};
		uint64_t us = rows[i].needs_ms * MS;
		struct heap_prediction p = {.walk_us = us, .types_us = us, .stacks_us = us, .collection_us = us};
		heap_share_predict(&p, &s);
		cr_expect(p.walk_us / MS == rows[i].walk_ms && p.types_us == p.walk_us && p.stacks_us == p.walk_us, "row %zu: %llu us", i,
			  (unsigned long long)p.walk_us);
		cr_expect_eq(p.collection_us / MS, rows[i].collection_ms, "row %zu: %llu us", i, (unsigned long long)p.collection_us);
	}
}

Test(heap_share, only_what_cannot_be_given_up_waits_as_the_look_did)
{
	static const struct {
		uint64_t look_us, look_cpu_us, collection_ms;
	} rows[] = {{0, 0, 100}, {8000, 8000, 100}, {7999, 8000, 100}, {8000, 4000, 200}, {16000, 4000, 400}, {90000, 4000, 400}, {8000, 0, 400}};
	const struct heap_share none = {.limit_millicores = 0}, half = {.limit_millicores = 500};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct heap_prediction p = {.look_us = rows[i].look_us, .look_cpu_us = rows[i].look_cpu_us, .walk_us = 30 * MS, .types_us = 10 * MS,
					    .collection_us = 100 * MS};
		heap_share_predict(&p, &none);
		cr_expect(p.walk_us == 30 * MS && p.types_us == 10 * MS && p.collection_us == rows[i].collection_ms * MS, "row %zu: %llu", i,
			  (unsigned long long)p.collection_us);
	}
	struct heap_prediction p = {.look_us = 20000, .look_cpu_us = 4000, .collection_us = 100 * MS};
	heap_share_predict(&p, &half);
	cr_expect_eq(p.collection_us, 400 * MS, "the limit may be what the look waited for: the longer one counts, not both");
}

Test(heap_share, whether_the_limit_is_used_up_by_what_was_counted_between)
{
	static const struct {
		int64_t before, after;
		bool used_up;
	} rows[] = {{-1, -1, false}, {-1, 5, false}, {5, 5, false}, {5, 6, true}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct cgroup_cpu before = {.limit_millicores = 500, .throttled_periods = rows[i].before},
					after = {.limit_millicores = 500, .throttled_periods = rows[i].after};
		const struct heap_share s = heap_share_of(&before, &after);
		cr_expect(s.used_up == rows[i].used_up && s.limit_millicores == 500, "row %zu", i);
	}
}

Test(heap_share, the_least_of_two_looks_that_saw_something)
{
	const struct heap_prediction nothing = {.collection_us = 7}, slow = {.walk_us = 900, .collection_us = 2700, .types_us = 80, .objects = 5},
				     fast = {.walk_us = 300, .collection_us = 2800, .types_us = 90, .objects = 6};
	struct heap_prediction p = slow;

	heap_share_least(&p, &fast);
	cr_expect(p.walk_us == 300 && p.collection_us == 2700 && p.types_us == 80 && p.objects == 5);
	p = fast;
	heap_share_least(&p, &slow);
	cr_expect_eq(p.objects, 5, "a heap of which little was seen is taken for larger than it is");
	p = slow;
	heap_share_least(&p, &fast);
	heap_share_least(&p, &nothing);
	cr_expect(p.walk_us == 300 && p.collection_us == 2700);
	p = nothing;
	heap_share_least(&p, &slow);
	cr_expect(p.walk_us == 900 && p.objects == 5);
}
