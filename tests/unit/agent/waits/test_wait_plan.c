#include "agent/waits/wait_plan.h"

#include <criterion/criterion.h>

#define SECOND 1000000000ll

Test(wait_plan, few_switches_are_all_recorded_with_their_stacks)
{
	struct wait_plan p = wait_plan_make(1250, 1e9, 10 * SECOND, false);
	cr_assert_not(p.looks);
	cr_assert_eq(p.period, 1);
	cr_assert_eq(p.window_ns, p.cycle_ns);
}

Test(wait_plan, on_a_full_node_looks_tell_the_times_of_few_switches_too)
{
	struct wait_plan p = wait_plan_make(1250, 1e9, 10 * SECOND, true);
	cr_assert(p.looks);
	cr_assert_eq(p.period, 1);
	cr_assert_eq(p.window_ns, p.cycle_ns, "and all are recorded");
}

Test(wait_plan, a_busy_process_pays_for_all_records_and_an_idle_one_for_some)
{
	struct wait_plan p = wait_plan_make(4000, 2e9, 10 * SECOND, false);
	cr_assert(p.looks);
	cr_assert_eq(p.window_ns, p.cycle_ns, "10 ms of 2 s may be spent, 7 are");
	p = wait_plan_make(30000, 0.6e9, 10 * SECOND, false);
	cr_assert_float_eq((double)p.window_ns, 217e6, 1e6, "3 of 34.6 ms: %lld", (long long)p.window_ns);
	cr_assert_eq(p.cycle_ns, 2500000000ll);
	cr_assert_eq(p.period, 15);
	p = wait_plan_make(30000, 0, 10 * SECOND, false);
	cr_assert_eq(p.cycle_ns, 2500000000ll, "a session has four windows at least");
	cr_assert_float_eq((double)p.window_ns, 108e6, 1e6, "1.5 of 34.6 ms: %lld", (long long)p.window_ns);
}

Test(wait_plan, windows_are_never_longer_than_their_cycle)
{
	for (double rate = 1300; rate < 1e7; rate *= 1.7)
		for (double cpu = 0; cpu < 64e9; cpu = cpu * 3 + 1e7)
			for (int64_t duration = 1; duration < 4000 * SECOND; duration *= 7) {
				struct wait_plan p = wait_plan_make(rate, cpu, duration, false);
				cr_assert_leq(p.window_ns, p.cycle_ns);
				cr_assert_gt(p.window_ns, 0);
				cr_assert_geq(wait_plan_opens_ns(&p, 5, UINT64_MAX), 5);
				cr_assert_leq(wait_plan_opens_ns(&p, 5, UINT64_MAX) + p.window_ns, 5 + p.cycle_ns);
			}
}

Test(wait_plan, looks_come_at_random_and_less_often_where_they_take_long)
{
	uint64_t state = 1;
	int64_t sum = 0, least = INT64_MAX, most = 0;
	for (int i = 0; i < 10000; i++) {
		int64_t ns = wait_plan_look_ns(100000, wait_plan_random(&state));
		sum += ns;
		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
	}
	cr_assert_float_eq((double)sum / 10000, 15e6, 0.5e6);
	cr_assert_lt(least, 7600000);
	cr_assert_gt(most, 22400000);
	cr_assert_geq(wait_plan_look_ns(10000000, 0), 200000000, "a fortieth of a CPU on average");
}

/* Nothing is known of a process that has not begun: it may do many switches. */
Test(wait_plan, a_process_that_has_not_begun)
{
	struct wait_plan p = wait_plan_blind(10 * INT64_C(1000000000));
	cr_expect(p.looks && p.window_ns < p.cycle_ns && p.period > 1);
}

Test(wait_plan, what_records_cost_beyond_their_part)
{
	struct wait_plan all = wait_plan_make(1000, 1e9, 10 * SECOND, false);
	cr_assert_lt(wait_plan_excess_ns(&all, 1000, SECOND, SECOND), 0, "3.3 of 5 ms");
	cr_assert_gt(wait_plan_excess_ns(&all, 30000, SECOND / 10, SECOND / 10), WAIT_PLAN_DEBT_NS, "99 of 0.5 ms, in a tenth of a second");
	cr_assert_lt(wait_plan_excess_ns(&all, 3000, SECOND / 10, SECOND / 10), WAIT_PLAN_DEBT_NS, "a burst");
	cr_assert_eq(wait_plan_excess_ns(&all, 10, 0, 0), 0);
}
