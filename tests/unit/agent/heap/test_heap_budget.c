#include "agent/heap/heap_budget.h"
#include "agent/heap/heap_memory.h"

#include <criterion/criterion.h>

#define MB (INT64_C(1) << 20)

Test(heap_budget, is_a_part_of_what_the_group_has_left)
{
	static const struct {
		int64_t usage, limit, most, percent, budget;
	} rows[] = {
		{-1, -1, 360 * MB, 70, 360 * MB},                /* unknown */
		{20 * MB, 0, 360 * MB, 70, 360 * MB},            /* no limit */
		{-1, 192 * MB, 360 * MB, 70, 360 * MB},
		{20 * MB, 1024 * MB, 360 * MB, 70, 360 * MB},
		{44 * MB, 192 * MB, 360 * MB, 70, 70 * MB},
		{44 * MB, 192 * MB, 192 * MB, 30, 30 * MB},
		{44 * MB, 192 * MB, 20 * MB, 30, 20 * MB},
		{140 * MB, 192 * MB, 360 * MB, 70, 16 * MB},     /* hardly any left */
		{200 * MB, 192 * MB, 360 * MB, 70, 16 * MB},
		{200 * MB, 192 * MB, 8 * MB, 70, 8 * MB},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct cgroup_memory group = {.usage_bytes = rows[i].usage, .limit_bytes = rows[i].limit};
		size_t budget = heap_budget_of((size_t)rows[i].most, (int)rows[i].percent, &group);
		cr_expect_lt((int64_t)budget - rows[i].budget, 100, "row %zu: %zu", i, budget);
		cr_expect_gt((int64_t)budget - rows[i].budget, -100, "row %zu: %zu", i, budget);
	}
	cr_expect_leq(heap_budget((size_t)(360 * MB), 70), (size_t)(360 * MB));
	cr_expect_geq(heap_budget((size_t)(360 * MB), 70), HEAP_BUDGET_LEAST);
}

Test(heap_budget, of_a_group_with_a_limit_a_wide_one_is_bounded_by_that_alone)
{
	static const struct {
		int64_t usage, limit, budget;
	} rows[] = {
		{-1, -1, 360 * MB},
		{20 * MB, 0, 360 * MB},
		{44 * MB, 192 * MB, 70 * MB},
		{148 * MB, 2196 * MB, 1400 * MB},
		{200 * MB, 192 * MB, 16 * MB},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct cgroup_memory group = {.usage_bytes = rows[i].usage, .limit_bytes = rows[i].limit};
		int64_t budget = (int64_t)heap_budget_wide_of((size_t)(360 * MB), 70, &group);
		cr_expect(budget - rows[i].budget < 100 && budget - rows[i].budget > -100, "row %zu: %lld", i, (long long)budget);
	}
}

/* So much more seems to be in use than at first; the group's own use changes meanwhile, by far less. */
static bool more_in_use(const struct cgroup_memory *first, int64_t bytes)
{
	struct cgroup_memory now;
	heap_budget_group(&now);
	int64_t off = now.usage_bytes - first->usage_bytes - bytes;
	return first->usage_bytes < 0 || (off > -(INT64_C(1) << 40) && off < INT64_C(1) << 40);
}

Test(heap_budget, what_graphs_may_still_take_counts_as_in_use)
{
	struct heap_memory one, other;
	struct heap_array a = {0};
	struct cgroup_memory first;
	const size_t large = (size_t)1 << 50;
	heap_budget_group(&first);
	heap_memory_init(&one, large, -1);
	cr_expect(more_in_use(&first, (int64_t)large));
	heap_memory_init(&other, large, -1);
	cr_expect(more_in_use(&first, 2 * (int64_t)large));
	cr_expect_eq(heap_memory_take(&one, &a, 1, 1 << 20, HEAP_AT_RANDOM, NULL), 0);
	cr_expect(more_in_use(&first, 2 * (int64_t)large));
	heap_memory_fini(&other);
	cr_expect(more_in_use(&first, (int64_t)large));
	heap_memory_give(&one, &a);
	heap_memory_fini(&one);
	cr_expect(more_in_use(&first, 0));
}
