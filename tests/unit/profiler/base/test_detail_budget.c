#include "common/proto/channel_stops.h"
#include "profiler/base/detail_budget.h"

#include <criterion/criterion.h>

#define SECOND 1000000000u
#define TURN (SECOND / 5)

struct run {
	struct detail_budget b;
	bool missed; /* something that people ask about comes all the time */
	uint64_t now_ns, seen, taken, windows, longest_closed_ns, closed_ns;
};

static struct run begin(uint64_t seed)
{
	struct run r = {.now_ns = 77 * (uint64_t)SECOND};

	detail_budget_init(&r.b, r.now_ns, seed);
	cr_expect(r.b.open);
	return r;
}

/* So many collections in the next turn. */
static void turn(struct run *r, uint64_t count)
{
	bool was = r->b.open;

	r->now_ns += TURN;
	r->seen += count;
	r->taken += was ? count : 0;
	r->closed_ns = was ? 0 : r->closed_ns + TURN;
	r->longest_closed_ns = r->closed_ns > r->longest_closed_ns ? r->closed_ns : r->longest_closed_ns;
	r->windows += detail_budget_step(&r->b, r->now_ns, r->taken, r->missed && !was) && !was;
}

Test(detail_budget, as_long_as_it_lasts_all_are_taken)
{
	static const struct {
		unsigned each, of, turns; /* `each` collections in every so many turns */
	} rows[] = {{0, 1, 1000}, {1, 1, 10000}, {CHANNEL_STOPS_DETAILS / 5, 1, 100000}, {CHANNEL_STOPS_DETAILS, 5, 100000},
		    {DETAIL_BUDGET_MOST - 1, 5 * DETAIL_BUDGET_MOST / CHANNEL_STOPS_DETAILS, 100000}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct run r = begin(i);
		for (unsigned k = 0; k < rows[i].turns; k++)
			turn(&r, k % rows[i].of ? 0 : rows[i].each);
		cr_expect(r.taken == r.seen && r.b.open, "row %zu: %lu of %lu", i, r.taken, r.seen);
	}
}

Test(detail_budget, the_last_of_it_closes_and_one_less_does_not)
{
	struct run r = begin(1);

	turn(&r, DETAIL_BUDGET_MOST - 1);
	cr_expect(r.b.open);
	r = begin(1);
	turn(&r, DETAIL_BUDGET_MOST);
	cr_expect_not(r.b.open, "it was full, and what a turn brings does not count");
	r = begin(1);
	turn(&r, 0);
	turn(&r, DETAIL_BUDGET_MOST + 1);
	cr_expect_not(r.b.open);
}

Test(detail_budget, beyond_it_the_long_run_keeps_to_it_in_many_windows)
{
	static const unsigned rates[] = {25, 40, 50, 132, 400, 2000}; /* in a turn */

	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
		struct run r = begin(i);
		for (unsigned k = 0; k < 5 * 3600; k++)
			turn(&r, rates[i]);
		double each_second = (double)r.taken / 3600;
		cr_expect_lt(each_second, CHANNEL_STOPS_DETAILS * 1.02 + rates[i] / 3600.0, "%u: %f", rates[i], each_second);
		cr_expect_gt(each_second, CHANNEL_STOPS_DETAILS * 0.9, "%u: %f", rates[i], each_second);
		cr_expect_gt(r.windows, 60u, "%u", rates[i]);
		cr_expect_lt(r.longest_closed_ns, (4 + 2 * rates[i] / CHANNEL_STOPS_DETAILS) * (uint64_t)SECOND, "%u", rates[i]);
	}
}

/* Sooner, and more often, but in the long run it is the same budget. */
Test(detail_budget, what_people_ask_about_is_looked_at_soon)
{
	static const unsigned rates[] = {50, 132, 400, 2000};

	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
		struct run r = begin(i);
		r.missed = true;
		for (unsigned k = 0; k < 50; k++)
			turn(&r, rates[i]);
		cr_expect(r.windows >= (rates[i] < 400 ? 3 : rates[i] < 2000 ? 1 : 0), "%u: %lu windows in 10 s", rates[i], r.windows);
		if (rates[i] < 400)
			cr_expect_leq(r.longest_closed_ns, 5 * (uint64_t)TURN, "%u", rates[i]);
		for (unsigned k = 0; k < 5 * 3600; k++)
			turn(&r, rates[i]);
		cr_expect_lt((double)r.taken / 3600, CHANNEL_STOPS_DETAILS * 1.03 + rates[i] / 1000.0, "%u", rates[i]);
	}
}

/* Every 13th turn is another kind of collection: its share in the sample is its share in all. */
Test(detail_budget, what_comes_in_step_is_met)
{
	struct run r = begin(5);
	uint64_t special_seen = 0, special_taken = 0;

	for (unsigned k = 0; k < 5 * 36000; k++) {
		bool special = k % 13 == 0;
		special_seen += special ? 120 : 0;
		special_taken += special && r.b.open ? 120 : 0;
		turn(&r, 120);
	}
	double sampled = (double)special_taken / (double)r.taken, all = (double)special_seen / (double)r.seen;
	cr_expect(sampled > 0.9 * all && sampled < 1.1 * all, "%f of %f", sampled, all);
}

Test(detail_budget, however_many_came_a_window_is_not_far)
{
	struct run r = begin(9);

	turn(&r, UINT64_MAX / 2);
	cr_expect_not(r.b.open);
	for (unsigned k = 0; !r.b.open && k < 5 * 200; k++)
		turn(&r, 1000000);
	cr_expect(r.b.open);
	/* and a clock that stood, or sprang */
	detail_budget_step(&r.b, r.now_ns, r.taken, false);
	r.now_ns = UINT64_MAX - TURN;
	turn(&r, 1);
	cr_expect(r.b.open);
}
