/* How long the library stays without a word of the agent. */
#include "profiler/base/lease.h"

#include <criterion/criterion.h>
#include <limits.h>

#define MS UINT64_C(1000000)

Test(lease, lapses_when_nothing_was_heard_for_so_long)
{
	static const struct {
		uint32_t length_ms;
		uint64_t silent_ns;
		int left_ms;
	} rows[] = {
		{0, 0, -1},
		{0, UINT64_MAX / 2, -1},
		{100, 0, 100},
		{100, 1, 100},
		{100, MS, 99},
		{100, 100 * MS - 1, 1},
		{100, 100 * MS, 0},
		{100, 100 * MS + 1, 0},
		{UINT32_MAX, 0, INT_MAX},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct lease l;
		lease_begin(&l, rows[i].length_ms, 5 * MS);
		cr_expect_eq(lease_left_ms(&l, 5 * MS + rows[i].silent_ns), rows[i].left_ms, "row %zu", i);
	}
}

Test(lease, begins_again_with_each_word)
{
	struct lease l;
	lease_begin(&l, 100, 0);
	lease_renew(&l, 90 * MS);
	cr_expect_eq(lease_left_ms(&l, 110 * MS), 80);
	cr_expect_eq(lease_left_ms(&l, 190 * MS), 0);
}

/* Another thread's word may be newer than the moment that is asked for. */
Test(lease, does_not_lapse_before_it_began)
{
	struct lease l;
	lease_begin(&l, 100, 5 * MS);
	cr_expect_eq(lease_left_ms(&l, 4 * MS), 100);
}
