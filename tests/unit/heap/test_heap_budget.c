#include "agent/heap/heap_budget.h"

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
