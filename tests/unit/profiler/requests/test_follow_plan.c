#include "profiler/requests/follow_plan.h"

#include <criterion/criterion.h>

#define SECOND 1000000000u

/* An application that is asked so often, and takes `cpus`, for `seconds`, looked at 50 times a second. What is followed first costs much more. */
struct told {
	uint64_t followed, seen_ns, rest_ns, rests;
	double estimated;
};

/* As many in a rest as the round after it says. */
static void add_round(struct told *t, const struct follow_round *r, uint64_t followed)
{
	t->seen_ns += r->end_ns - r->start_ns;
	t->rest_ns += r->rest_ns;
	t->estimated += (double)followed;
	if (r->rest_ns && r->own_cpu_ns)
		t->estimated += (double)followed * (double)r->rest_cpu_ns / (double)r->own_cpu_ns;
}

static struct told simulate(uint64_t per_second, double cpus, unsigned seconds)
{
	struct follow_now now = {.ns = 5 * SECOND};
	struct follow_round round;
	struct follow_plan p;
	struct told t = {0};
	uint64_t told = 0, in_round = 0, cost_ns;

	follow_plan_init(&p, &now);
	for (unsigned i = 0; i < 50 * seconds; i++) {
		now.ns += SECOND / 50;
		cost_ns = now.followed - in_round < FOLLOW_SETTLED ? 5 * FOLLOW_COST_OF_MANY_NS : FOLLOW_COST_OF_MANY_NS;
		now.cpu_ns += (uint64_t)(cpus * SECOND / 50) + (p.resting ? 0 : per_second / 50 * cost_ns);
		now.followed += p.resting ? 0 : per_second / 50;
		enum follow_step step = follow_plan_step(&p, &now, &round);
		if (step == FOLLOW_RESUME) {
			follow_plan_resumed(&p, &now);
			in_round = now.followed;
		}
		t.rests += step == FOLLOW_REST;
		if (step != FOLLOW_ROUND && step != FOLLOW_REST)
			continue;
		add_round(&t, &round, now.followed - told);
		told = now.followed;
	}
	follow_plan_end(&p, &now, &round);
	add_round(&t, &round, now.followed - told);
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
	cr_expect_float_eq(t.estimated, 60000.0 * 600, 60000.0 * 600 * 0.03);
	const struct told more = simulate(600000, 1, 600);
	cr_expect_geq(more.rests, 600 / 31 - 1, "it is looked at now and then in any case");
}

Test(follow_plan, a_burst_is_followed_whole)
{
	cr_expect_eq(simulate(8000, 1, 2).rests, 0);
	cr_expect_gt(simulate(8000, 1, 4).rests, 0);
}

static struct follow_now at(unsigned ms, uint64_t followed)
{
	return (struct follow_now){.ns = SECOND + ms * 1000000ull, .cpu_ns = ms * 1000000ull, .followed = followed};
}

Test(follow_plan, a_round_is_shorter_where_it_costs_much)
{
	struct follow_now now = at(0, 0);
	struct follow_round round;
	struct follow_plan p;

	follow_plan_init(&p, &now);
	now = at(80, 32000);
	cr_expect_eq(follow_plan_step(&p, &now, &round), FOLLOW_GO_ON);
	now = at(100, 40000);
	cr_assert_eq(follow_plan_step(&p, &now, &round), FOLLOW_REST);
	cr_expect(round.start_ns == SECOND && round.end_ns == now.ns);
}

Test(follow_plan, it_is_longer_for_what_takes_long)
{
	struct follow_now now = at(0, 0);
	struct follow_round round;
	struct follow_plan p;

	follow_plan_init(&p, &now);
	now = at(100, 14000);
	cr_expect(!follow_plan_asks(&p, &now), "it is followed anyhow");
	now = at(120, 20000);
	now.slow = true;
	cr_expect(follow_plan_asks(&p, &now));
	cr_expect_eq(follow_plan_step(&p, &now, &round), FOLLOW_GO_ON);
	now = at(500, 60001);
	now.slow = true;
	cr_expect(!follow_plan_asks(&p, &now));
	cr_expect_eq(follow_plan_step(&p, &now, &round), FOLLOW_REST, "but not at any cost");
}

/* 10 us of its own for each; the first ones cost 50 us more each. */
Test(follow_plan, what_is_dear_at_first_is_not_taken_for_its_own)
{
	struct follow_now now = at(0, 0);
	struct follow_round round;
	struct follow_plan p;

	follow_plan_init(&p, &now);
	for (unsigned ms = 20; ms <= 200; ms += 20) {
		now.ns += 20000000;
		now.followed += 2000;
		now.cpu_ns += 2000u * (10000u + FOLLOW_COST_OF_MANY_NS + (ms <= 60 ? 50000u : 0));
		if (follow_plan_step(&p, &now, &round) == FOLLOW_REST)
			break;
	}
	cr_assert(p.resting);
	cr_expect_eq(round.own_cpu_ns, now.followed * 10000);
}

Test(follow_plan, what_could_not_be_begun_again_is_tried_later)
{
	struct follow_now now = {.followed = 0};
	struct follow_round round;
	struct follow_plan p;

	follow_plan_init(&p, &now);
	now = (struct follow_now){.ns = SECOND, .cpu_ns = SECOND, .followed = 100000};
	cr_assert_eq(follow_plan_step(&p, &now, &round), FOLLOW_REST);
	cr_expect(round.start_ns == 0 && round.end_ns == SECOND && round.rest_ns == 0);
	cr_expect_eq(round.own_cpu_ns, SECOND - 100000u * FOLLOW_COST_OF_MANY_NS);
	now.ns = p.resume_ns;
	cr_assert_eq(follow_plan_step(&p, &now, &round), FOLLOW_RESUME);
	follow_plan_postpone(&p, SECOND);
	cr_assert_eq(follow_plan_step(&p, &now, &round), FOLLOW_GO_ON);
	now.ns += SECOND;
	now.cpu_ns += 7;
	cr_assert_eq(follow_plan_step(&p, &now, &round), FOLLOW_RESUME);
	follow_plan_end(&p, &now, &round);
	cr_expect(round.start_ns == now.ns && round.end_ns == now.ns && round.rest_ns == now.ns - SECOND && round.rest_cpu_ns == 7);
	follow_plan_resumed(&p, &now);
	now.ns += SECOND;
	cr_assert_eq(follow_plan_step(&p, &now, &round), FOLLOW_ROUND);
	cr_expect(round.rest_ns == now.ns - 2ull * SECOND && round.rest_cpu_ns == 7 && round.end_ns - round.start_ns == SECOND);
}

Test(follow_plan, requests_are_counted_in_rests_where_that_is_cheap)
{
	cr_expect(follow_plan_counts(&(struct follow_round){.own_cpu_ns = 100 * 30000, .followed = 100}));
	cr_expect_not(follow_plan_counts(&(struct follow_round){.own_cpu_ns = 100 * 30000 - 1, .followed = 100}));
}

/* The agent took nothing for nine seconds: the round ended when that began. */
Test(follow_plan, a_round_that_breaks_off_is_followed_by_a_rest)
{
	struct follow_now now = {.ns = 5 * SECOND};
	struct follow_round round;
	struct follow_plan p;

	follow_plan_init(&p, &now);
	const struct follow_now then = {.ns = 5 * SECOND + SECOND / 2, .cpu_ns = SECOND / 4, .followed = 100};
	follow_plan_break(&p, &then, &round);
	cr_expect(round.start_ns == 5 * SECOND && round.end_ns == then.ns && round.followed == 100 && round.rest_ns == 0);
	cr_expect(p.resting);
	now = (struct follow_now){.ns = then.ns + 9ull * SECOND, .cpu_ns = SECOND, .followed = 100};
	cr_assert_eq(follow_plan_step(&p, &now, &round), FOLLOW_RESUME);
	follow_plan_resumed(&p, &now);
	now.ns += SECOND;
	now.followed += 10;
	cr_assert_eq(follow_plan_step(&p, &now, &round), FOLLOW_ROUND);
	cr_expect(round.rest_ns == 9ull * SECOND && round.rest_cpu_ns == SECOND - SECOND / 4 && round.followed == 10);
}

Test(follow_plan, a_round_that_breaks_off_pays_its_cost)
{
	struct follow_now now = {.ns = 5 * SECOND};
	struct follow_round round;
	struct follow_plan p;

	follow_plan_init(&p, &now);
	now = (struct follow_now){.ns = 5 * SECOND + SECOND / 2, .cpu_ns = SECOND, .followed = 100000};
	follow_plan_break(&p, &now, &round);
	now.ns += SECOND / 2;
	cr_expect_eq(follow_plan_step(&p, &now, &round), FOLLOW_GO_ON, "it is not over its rest");
}
