#include "profiler/base/event_budget.h"

#include <criterion/criterion.h>

#define ROUND_NS 100000000u

Test(event_budget, a_burst_within_the_credit_is_taken_whole)
{
	struct event_budget b = {.credit = 1000, .most = 1000};

	cr_expect_eq(event_budget_spend(&b, 1100, 100, ROUND_NS), 0);
	cr_expect_eq(b.credit, 0);
	for (int i = 0; i < 30; i++)
		cr_expect_eq(event_budget_spend(&b, 0, 100, ROUND_NS), 0);
	cr_expect_eq(b.credit, 1000, "it is earned again, and no more than that");
}

Test(event_budget, what_is_too_much_is_rested_for)
{
	struct event_budget b = {.credit = 0, .most = 1000};

	cr_expect_eq(event_budget_spend(&b, 110, 100, ROUND_NS), 0, "but not at once");
	cr_expect_eq(event_budget_spend(&b, 300, 100, ROUND_NS), ROUND_NS / 10 * 21);
	cr_expect_eq(b.credit, 0);
	cr_expect_eq(event_budget_spend(&b, 1000000, 100, ROUND_NS), 2000000000u, "two seconds at most");
	cr_expect_gt(event_budget_spend(&b, 10, 0, ROUND_NS), 0, "nothing is allowed: one is");
}

/* Whatever comes, in the long run no more is taken than is allowed. */
Test(event_budget, the_average_is_kept)
{
	struct event_budget b = {.credit = 16000, .most = 16000};
	double taken = 0, ns = 0;

	for (unsigned i = 0; i < 1000; i++) {
		uint64_t events = i % 7 * 900;
		taken += (double)events;
		ns += ROUND_NS + (double)event_budget_spend(&b, events, 800, ROUND_NS);
	}
	cr_expect_leq(taken, 16000 + 8000 * ns / 1e9 + 200);
	cr_expect_geq(taken, 0.5 * 8000 * ns / 1e9);
}
