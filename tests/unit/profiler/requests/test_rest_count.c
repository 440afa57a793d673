#include "profiler/requests/rest_count.h"

#include <criterion/criterion.h>

#define SECOND 1000000000ull

static struct rest_count begun(uint64_t all, uint64_t followed)
{
	struct rest_count c = {0};
	rest_count_begin(&c, &(struct rest_look){10 * SECOND, all, 0, followed, followed}, 10 * SECOND);
	return c;
}

static void new_round(struct rest_count *c, uint64_t ns, uint64_t all, uint64_t followed)
{
	rest_count_round(c, &(struct rest_look){ns, all, 0, followed, followed});
}

static uint64_t told(struct rest_count *c, uint64_t all, uint64_t followed)
{
	return rest_count_told(c, &(struct rest_look){99 * SECOND, all, 0, followed, followed});
}

Test(rest_count, tells_what_began_in_a_rest)
{
	struct rest_count c = begun(1000700, 500); /* others have listened before */

	new_round(&c, 15 * SECOND, 1020700, 510);
	cr_expect_eq(told(&c, 1022700, 2505), 19990, "those that are followed already are none of it");
	rest_count_begin(&c, &(struct rest_look){21 * SECOND, 5000, 0, 2600, 2600}, 20 * SECOND);
	new_round(&c, 30 * SECOND, 14000, 2600);
	cr_expect_eq(told(&c, 14000, 2600), 10000, "what came in its first second is told by the others");
	rest_count_end(&c);
	cr_expect_not(c.runs);
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
		struct rest_count c = begun(700, 200);
		new_round(&c, 11 * SECOND, 900, 200);
		uint64_t n = told(&c, 900 + rows[i].all, 200 + rows[i].followed);
		cr_expect_eq(n, rows[i].right ? 200 : REST_NOT_COUNTED, "row %zu: %lu", i, (unsigned long)n);
		rest_count_begin(&c, &(struct rest_look){0}, 0);
		cr_expect_eq(c.runs, rows[i].right, "not once more");
	}
}

/* 3 of another's session and 7 that are followed, as the first rest comes. */
Test(rest_count, knows_how_many_in_flight_are_not_followed)
{
	struct rest_count c = {0};

	rest_count_begin(&c, &(struct rest_look){.ns = 1, .all = 1010, .in_flight = 10, .followed = 1000, .followed_ended = 993}, 1);
	cr_expect_eq(rest_count_in_flight(&c, &(struct rest_look){.all = 1020, .in_flight = 12, .followed = 1000, .followed_ended = 993}, false), 9);
	rest_count_round(&c, &(struct rest_look){.ns = 2, .all = 1100, .in_flight = 20, .followed = 1000, .followed_ended = 993});
	cr_expect_eq(rest_count_in_flight(&c, &(struct rest_look){.all = 1200, .in_flight = 21, .followed = 1100, .followed_ended = 1089}, true), 14,
		     "4 of those 18 are of this round");
	cr_expect_eq(rest_count_in_flight(&c, &(struct rest_look){.all = 1200, .in_flight = 2, .followed = 1100, .followed_ended = 1093}, true), 0);
	rest_count_end(&c);
	cr_expect_eq(rest_count_in_flight(&c, &(struct rest_look){0}, true), REST_NOT_COUNTED);
}
