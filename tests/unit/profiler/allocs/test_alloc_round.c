#include "profiler/allocs/alloc_round.h"

#include <criterion/criterion.h>

#define MS 1000000u

Test(alloc_round, a_whole_one_stands_for_the_rest_before_it_and_a_short_one_for_itself)
{
	static const struct {
		uint64_t counted, sampling, now; /* ms */
		uint64_t covered, sampled;
	} rows[] = {
		{1000, 500, 1100, 100, 100},  /* no rest before it */
		{1000, 1000, 1100, 100, 100},
		{1000, 1400, 1500, 500, 100}, /* a rest of 400 ms */
		{1000, 1400, 1499, 99, 99},   /* the session ends */
		{1000, 1400, 1401, 1, 1},
		{1000, 500, 1003, 3, 3},      /* it was told a moment ago */
		{1000, 1400, 1400, 0, 0},
		{1000, 500, 1000, 0, 0},
		{1000, 1400, 1399, 0, 0},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct channel_alloc_round r = alloc_round_of(rows[i].counted * MS, rows[i].sampling * MS, rows[i].now * MS);
		cr_expect_eq(r.covered_ns, rows[i].covered * MS, "row %zu: %zu", i, (size_t)r.covered_ns);
		cr_expect_eq(r.sampled_ns, rows[i].sampled * MS, "row %zu: %zu", i, (size_t)r.sampled_ns);
		cr_expect_eq(r.time_ns, (int64_t)rows[i].now * MS);
	}
}
