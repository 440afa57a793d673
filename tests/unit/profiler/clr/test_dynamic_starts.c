#include "profiler/clr/dynamic_starts.h"

#include <criterion/criterion.h>

Test(dynamic_starts, the_newest_start_counts)
{
	dynamic_starts_reset();
	cr_expect_eq(dynamic_starts_get(0x7f0000001000), 0);
	dynamic_starts_put(0x7f0000001000, 5);
	cr_expect_eq(dynamic_starts_get(0x7f0000001000), 5);
	dynamic_starts_put(0x7f0000001000, 9);
	cr_expect_eq(dynamic_starts_get(0x7f0000001000), 9);
	cr_expect_eq(dynamic_starts_get(0x7f0000001008), 0);
	dynamic_starts_reset();
	cr_expect_eq(dynamic_starts_get(0x7f0000001000), 0);
}

/* What was forgotten may only look younger than it is: a name is lost then, never wrong. */
Test(dynamic_starts, a_full_table_never_makes_a_method_older)
{
	enum { COUNT = 20000 };
	size_t exact = 0;

	dynamic_starts_reset();
	for (uint64_t i = 1; i <= COUNT; i++)
		dynamic_starts_put(0x7f0000000000 + i * 8, i);
	for (uint64_t i = 1; i <= COUNT; i++) {
		uint64_t start = dynamic_starts_get(0x7f0000000000 + i * 8);
		cr_assert(start >= i, "method %llu has start %llu", (unsigned long long)i, (unsigned long long)start);
		exact += start == i;
	}
	cr_expect_gt(exact, 1500);
}
