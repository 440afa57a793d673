#include "profiler/requests/follow_plan.h"

#include <criterion/criterion.h>

#define SECOND 1000000000u

/* An application that is asked so often, and takes `cpus`, for `seconds`, looked at 50 times a second. */
struct told {
	uint64_t followed, seen_ns, rest_ns, rests;
	double estimated;
};

static void add_round(struct told *t, const struct follow_round *r, uint64_t per_second)
{
	t->seen_ns += r->end_ns - r->start_ns;
	t->rest_ns += r->rest_ns;
	t->estimated += (double)r->stands_for_ns / 1e9 * (double)per_second;
}

static struct told simulate(uint64_t per_second, double cpus, unsigned seconds)
{
	struct follow_now now = {.ns = 5 * SECOND};
	struct follow_round round;
	struct follow_plan p;
	struct told t = {0};

	follow_plan_init(&p, &now);
	for (unsigned i = 0; i < 50 * seconds; i++) {
		now.ns += SECOND / 50;
		now.cpu_ns += (uint64_t)(cpus * SECOND / 50) + (p.resting ? 0 : per_second / 50 * FOLLOW_COST_NS);
		now.followed += p.resting ? 0 : per_second / 50;
		enum follow_step step = follow_plan_step(&p, &now, &round);
		if (step == FOLLOW_RESUME)
			follow_plan_resumed(&p, &now, &round);
		t.rests += step == FOLLOW_REST;
		if (step != FOLLOW_ROUND && step != FOLLOW_RESUME)
			continue;
		add_round(&t, &round, per_second);
	}
	follow_plan_end(&p, &now, &round);
	add_round(&t, &round, per_second);
	t.followed = now.followed;
	cr_expect_eq(t.seen_ns + t.rest_ns, now.ns - 5 * SECOND, "all of the time is seen or rested");
	return t;
}

Test(follow_plan, few_requests_are_followed_all_the_time)
{
	const struct told t = simulate(1000, 0.1, 600);
	cr_expect(t.rests == 0 && t.followed == 600000 && t.rest_ns == 0);
}

Test(follow_plan, so_are_many_of_a_process_that_works_much)
{
	cr_expect_eq(simulate(10000, 8, 100).rests, 0);
}

Test(follow_plan, of_too_many_a_part_is_followed_that_costs_its_share)
{
	const struct told t = simulate(60000, 1, 600);
	const double cost_ns = (double)t.followed * FOLLOW_COST_NS, cpu_ns = 600.0 * SECOND;
	cr_expect_gt(t.rests, 10);
	cr_expect_lt(cost_ns, cpu_ns / FOLLOW_PART + FOLLOW_BURST_NS + 60000.0 * FOLLOW_COST_NS);
	cr_expect_gt(cost_ns, 0.7 * cpu_ns / FOLLOW_PART, "and not much less");
	cr_expect_float_eq(t.estimated, 60000.0 * 600, 60000.0 * 600 * 0.02);
	const struct told more = simulate(600000, 1, 600);
	cr_expect_geq(more.rests, 600 / 31 - 1, "it is looked at now and then in any case");
}

Test(follow_plan, a_burst_is_followed_whole)
{
	cr_expect_eq(simulate(8000, 1, 2).rests, 0);
	cr_expect_gt(simulate(8000, 1, 4).rests, 0);
}

Test(follow_plan, a_round_is_shorter_where_it_costs_much)
{
	struct follow_now now = {.followed = 0};
	struct follow_round round;
	struct follow_plan p;

	follow_plan_init(&p, &now);
	now = (struct follow_now){.ns = SECOND / 5, .cpu_ns = SECOND / 5, .followed = 80000};
	cr_expect_eq(follow_plan_step(&p, &now, &round), FOLLOW_GO_ON);
	now.ns = SECOND / 4;
	cr_assert_eq(follow_plan_step(&p, &now, &round), FOLLOW_REST);
	cr_expect(round.start_ns == 0 && round.end_ns == SECOND / 4);
}

Test(follow_plan, what_could_not_be_begun_again_is_tried_later)
{
	struct follow_now now = {.followed = 0};
	struct follow_round round;
	struct follow_plan p;

	follow_plan_init(&p, &now);
	now = (struct follow_now){.ns = SECOND, .cpu_ns = SECOND, .followed = 100000};
	cr_assert_eq(follow_plan_step(&p, &now, &round), FOLLOW_REST);
	now.ns = p.resume_ns;
	cr_assert_eq(follow_plan_step(&p, &now, &round), FOLLOW_RESUME);
	follow_plan_postpone(&p, SECOND);
	cr_assert_eq(follow_plan_step(&p, &now, &round), FOLLOW_GO_ON);
	now.ns += SECOND;
	cr_assert_eq(follow_plan_step(&p, &now, &round), FOLLOW_RESUME);
	follow_plan_resumed(&p, &now, &round);
	cr_expect(round.start_ns == 0 && round.end_ns == SECOND && round.rest_ns == now.ns - SECOND && !round.after_rest);
	cr_expect_eq(round.stands_for_ns, SECOND, "the process did nothing meanwhile");
	now.ns += SECOND;
	cr_assert_eq(follow_plan_step(&p, &now, &round), FOLLOW_ROUND);
	cr_expect(round.after_rest && round.rest_ns == 0 && round.stands_for_ns == SECOND);
}
