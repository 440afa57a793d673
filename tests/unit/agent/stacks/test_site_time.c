#include "agent/stacks/site_time.h"

#include <criterion/criterion.h>

#define SECOND 1000000000ll

static double sum_of(const double *buckets, size_t from, size_t to)
{
	double sum = 0;
	for (size_t i = from; i < to; i++)
		sum += buckets[i];
	return sum;
}

Test(site_time, a_round_is_spread_over_the_time_that_it_stands_for)
{
	struct site_time t = {0};
	double *parts, buckets[CPU_TIMELINE_BUCKETS] = {0};
	size_t count = site_time_round(&t, 3 * SECOND, SECOND, &parts);
	cr_assert_eq(count, 5, "four quarters of a second, and the one that it ends in");
	for (size_t i = 0; i < count; i++)
		parts[i] += 20;
	site_time_fill(&t, 6 * SECOND, buckets);
	cr_expect_float_eq(sum_of(buckets, 0, CPU_TIMELINE_BUCKETS), 100, 1e-6);
	cr_expect_float_eq(sum_of(buckets, CPU_TIMELINE_BUCKETS / 3, CPU_TIMELINE_BUCKETS / 2), 80, 1e-6);
	site_time_fini(&t);
}

static const struct {
	int64_t at_ns;
	uint64_t covered_ns;
	size_t count;
} rounds[] = {
	{0, 0, 1},
	{-SECOND, 0, 1},                       /* before the session */
	{SECOND / 2, 100ull * SECOND, 3},      /* from before it on */
	{1000 * SECOND, 100ull * SECOND, 41},  /* at most ten seconds */
	{INT64_MAX, 0, 1},
	{INT64_MIN, 0, 1},
	{INT64_MAX, UINT64_MAX / 2, 41},
};

Test(site_time, whatever_a_process_says_is_within_bounds)
{
	struct site_time t = {0};
	for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
		double *parts;
		size_t count = site_time_round(&t, rounds[i].at_ns, rounds[i].covered_ns, &parts);
		cr_expect_eq(count, rounds[i].count, "row %zu: %zu", i, count);
		cr_assert(parts >= t.parts && parts + count <= t.parts + t.part_count, "row %zu", i);
		for (size_t k = 0; k < count; k++)
			parts[k]++;
	}
	site_time_fini(&t);
}

Test(site_time, a_short_rest_at_the_end_scales_and_a_long_stop_does_not)
{
	const struct site_time sampled = {.covered_ns = 4 * SECOND, .sampled_ns = SECOND}, whole = {.covered_ns = 4 * SECOND, .sampled_ns = 4 * SECOND};
	cr_expect_float_eq(site_time_scale(&sampled, 5 * SECOND), 1.25, 1e-9);
	cr_expect_eq(site_time_scale(&sampled, 12 * SECOND), 1);
	cr_expect_eq(site_time_scale(&sampled, 3 * SECOND), 1);
	cr_expect_eq(site_time_scale(&whole, 5 * SECOND), 1);
	cr_expect_eq(site_time_scale(&(struct site_time){0}, SECOND), 1);
	cr_expect_eq(site_time_sampled_percent(&sampled), 25);
	cr_expect_eq(site_time_sampled_percent(&(struct site_time){0}), 100);
}
