#include "profiler/requests/rest_count.h"

#include <criterion/criterion.h>

Test(rest_count, tells_what_began_between_rounds)
{
	struct rest_count c = {0};

	rest_count_begin(&c, 1000700, 500); /* others have listened before */
	rest_count_round(&c, 1020700, 510);
	cr_expect_eq(rest_count_told(&c, 1022700, 2505, true), 19995);
	cr_expect_eq(rest_count_told(&c, 1023700, 3505, true), 0, "no rest");
	cr_expect_eq(rest_count_told(&c, 1033700, 3505, false), 10000, "one that is the last");
	cr_expect(c.runs);
	rest_count_end(&c);
	cr_expect_not(c.runs);
	rest_count_begin(&c, 5, 3);
	cr_expect(c.runs);
}

Test(rest_count, is_no_count_of_what_is_followed)
{
	static const struct {
		uint64_t all, followed;
		bool right;
	} rows[] = {
		{10000, 10000, true},
		{10060, 10000, true}, /* some begin as it does */
		{10150, 10000, true},
		{0, 10000, false}, /* of others, who have none */
		{10300, 10000, false},
		{40, 0, true},
		{100, 0, false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct rest_count c = {0};
		rest_count_begin(&c, 700, 200);
		rest_count_round(&c, 900, 200);
		uint64_t told = rest_count_told(&c, 900 + rows[i].all, 200 + rows[i].followed, true);
		cr_expect_eq(told == REST_NOT_COUNTED, !rows[i].right, "row %zu: %lu", i, (unsigned long)told);
		cr_expect_eq(c.runs, rows[i].right);
		rest_count_begin(&c, 900, 200);
		cr_expect_eq(c.runs, rows[i].right, "not once more");
	}
}

Test(rest_count, what_was_followed_is_no_rest)
{
	struct rest_count c = {0};

	rest_count_begin(&c, 700, 200);
	cr_expect_eq(rest_count_told(&c, 790, 295, true), 0);
}
