#include "agent/observe/observe_step.h"

#include <criterion/criterion.h>

#define FOUND_MS 1000000

/* A container that is looked at each second; `use` is per cent of its limit, memory or CPU. */
struct play {
	struct link_observation what;
	struct observe_state state;
	struct observe_sample sample;
	int changes;
};

static struct play begin(enum link_resource resource, int64_t above, int64_t seconds)
{
	struct play p = {.what = {.resource = resource, .above_percent = above, .for_seconds = seconds}};
	p.sample = (struct observe_sample){.found = true, .whole = 1000, .mono_ms = FOUND_MS, .wall_ms = 77000000};
	if (resource == LINK_RESOURCE_CPU)
		observe_step(&p.what, &p.state, &p.sample);
	return p;
}

static void step(struct play *p, int64_t use, int64_t ms)
{
	p->sample.mono_ms += ms;
	p->sample.wall_ms += ms;
	if (p->what.resource == LINK_RESOURCE_CPU)
		p->sample.amount += use * p->sample.whole * 10 * ms; /* per cent of millicores, in ns */
	else
		p->sample.amount = use * p->sample.whole / 100;
	p->changes += observe_step(&p->what, &p->state, &p->sample);
}

static void run(struct play *p, int64_t use, int seconds)
{
	for (int i = 0; i < seconds; i++)
		step(p, use, 1000);
}

Test(observe_step, memory_fires_after_its_time)
{
	struct play p = begin(LINK_RESOURCE_MEMORY, 80, 10);
	run(&p, 80, 100);
	cr_expect_eq(p.state.state, LINK_OBSERVED_NORMAL, "80 is not above 80");
	int64_t since = p.sample.wall_ms + 1000;
	run(&p, 81, 10);
	cr_expect_eq(p.state.state, LINK_OBSERVED_NORMAL, "nine seconds have passed since the first");
	run(&p, 81, 1);
	cr_expect_eq(p.state.state, LINK_OBSERVED_ABOVE);
	cr_expect_eq(p.state.since_wall_ms, since, "when it rose above the threshold");
	cr_expect_eq(p.state.value, 810);
	cr_expect_eq(p.state.whole, 1000);
	run(&p, 99, 100);
	cr_expect_eq(p.changes, 1, "once");
}

Test(observe_step, a_break_begins_it_anew)
{
	struct play p = begin(LINK_RESOURCE_MEMORY, 80, 10);
	run(&p, 90, 10);
	run(&p, 80, 1);
	run(&p, 90, 10);
	cr_expect_eq(p.state.state, LINK_OBSERVED_NORMAL);
	run(&p, 90, 1);
	cr_expect_eq(p.state.state, LINK_OBSERVED_ABOVE);
}

Test(observe_step, what_swings_around_the_threshold_is_one_episode)
{
	struct play p = begin(LINK_RESOURCE_MEMORY, 80, 10);
	run(&p, 90, 11);
	for (int i = 0; i < 20; i++) {
		run(&p, 73, 30); /* above nine tenths of the threshold */
		run(&p, 50, 9);  /* for less than the time */
		run(&p, 95, 12);
	}
	cr_expect_eq(p.changes, 1);
	run(&p, 72, 10);
	cr_expect_eq(p.state.state, LINK_OBSERVED_ABOVE);
	run(&p, 72, 1);
	cr_expect_eq(p.state.state, LINK_OBSERVED_NORMAL);
	run(&p, 95, 11);
	cr_expect_eq(p.changes, 3, "a second episode");
}

Test(observe_step, a_long_time_is_normal_again_after_a_minute)
{
	struct play p = begin(LINK_RESOURCE_MEMORY, 80, 3600);
	run(&p, 90, 3601);
	cr_expect_eq(p.state.state, LINK_OBSERVED_ABOVE);
	run(&p, 10, 60);
	cr_expect_eq(p.state.state, LINK_OBSERVED_ABOVE);
	run(&p, 10, 1);
	cr_expect_eq(p.state.state, LINK_OBSERVED_NORMAL);
}

Test(observe_step, cpu_is_the_average_of_the_window)
{
	struct play p = begin(LINK_RESOURCE_CPU, 80, 10);
	run(&p, 90, 6);
	cr_expect_eq(p.state.value, 900);
	run(&p, 60, 1); /* one pause of five seconds' length would be a break */
	cr_expect_eq(p.state.value, 840);
	run(&p, 90, 3);
	cr_expect_eq(p.state.state, LINK_OBSERVED_NORMAL);
	run(&p, 90, 2);
	cr_expect_eq(p.state.state, LINK_OBSERVED_ABOVE);
	run(&p, 0, 5);
	cr_expect_eq(p.state.value, 0);
}

Test(observe_step, looks_that_come_late_or_often_change_nothing)
{
	static const int64_t pauses_ms[] = {250, 700, 1000, 1700, 4900, 9900};
	for (size_t i = 0; i < sizeof pauses_ms / sizeof *pauses_ms; i++) {
		struct play p = begin(LINK_RESOURCE_CPU, 80, 10);
		for (int64_t t = 0; t < 40000; t += pauses_ms[i])
			step(&p, 90, pauses_ms[i]);
		cr_expect_eq(p.state.value, 900, "%lld ms: %lld", (long long)pauses_ms[i], (long long)p.state.value);
		cr_expect_eq(p.state.state, LINK_OBSERVED_ABOVE);
		cr_expect_eq(p.changes, 1);
	}
}

Test(observe_step, a_gap_or_a_restart_begins_anew)
{
	struct play p = begin(LINK_RESOURCE_CPU, 80, 10);
	run(&p, 90, 8);
	step(&p, 90, OBSERVE_GAP_MS + 1);
	run(&p, 90, 10);
	cr_expect_eq(p.state.state, LINK_OBSERVED_NORMAL, "what was before the gap does not count");
	run(&p, 90, 1);
	cr_expect_eq(p.state.state, LINK_OBSERVED_ABOVE);

	p = begin(LINK_RESOURCE_CPU, 80, 10);
	run(&p, 90, 8);
	p.sample.amount = 0; /* another group, of the same name */
	run(&p, 90, 10);
	cr_expect_eq(p.state.state, LINK_OBSERVED_NORMAL);
	cr_expect_eq(p.state.value, 900, "no negative use");
}

Test(observe_step, says_what_it_cannot_see)
{
	struct play p = begin(LINK_RESOURCE_MEMORY, 80, 10);
	run(&p, 90, 11);
	p.sample.found = false;
	run(&p, 90, 5);
	cr_expect_eq(p.state.state, LINK_OBSERVED_NOT_FOUND);
	cr_expect_eq(p.changes, 2);
	p.sample.found = true;
	p.sample.whole = 0;
	run(&p, 90, 5);
	cr_expect_eq(p.state.state, LINK_OBSERVED_NO_LIMIT);
	cr_expect_eq(p.changes, 3);
	p.sample.whole = 1000;
	run(&p, 90, 1);
	cr_expect_eq(p.state.state, LINK_OBSERVED_NORMAL);
	run(&p, 90, 10);
	cr_expect_eq(p.state.state, LINK_OBSERVED_ABOVE);
	cr_expect_eq(p.changes, 5);
}

Test(observe_step, large_figures_do_not_overflow)
{
	struct link_observation what = {.resource = LINK_RESOURCE_MEMORY, .above_percent = LINK_OBSERVE_MAX_PERCENT, .for_seconds = 1};
	struct observe_state s = {0};
	struct observe_sample sample = {true, INT64_MAX, INT64_MAX / 16, 5, 5};
	cr_expect_not(observe_step(&what, &s, &sample));
	cr_expect_eq(s.state, LINK_OBSERVED_NORMAL);
}
