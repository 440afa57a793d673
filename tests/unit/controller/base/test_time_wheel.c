#include "controller/base/time_wheel.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define TICK_MS 100

struct waiter {
	struct time_wheel_entry entry;
	int64_t at_ms;
};

static int take_all(struct time_wheel *w, int64_t now_ms)
{
	int n = 0;
	while (time_wheel_take(w, now_ms))
		n++;
	return n;
}

Test(time_wheel, an_entry_is_due_at_the_tick_after_its_time)
{
	static const struct {
		int64_t now_ms, at_ms, not_yet_ms, due_ms;
	} cases[] = {
		{1000, 1500, 1499, 1500},
		{1000, 1501, 1599, 1600},
		{1050, 1500, 1499, 1500},
		{1000, 1000, 1099, 1100},                         /* now: at the next tick */
		{1000, 0, 1099, 1100},                            /* long ago */
		{1000, 1000 + TICK_MS * 127, 13699, 13700},       /* the farthest */
		{1000, 1000 + TICK_MS * 5000, 13699, 13700},      /* too far: looked at before */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct time_wheel w;
		struct time_wheel_entry e = {0};
		time_wheel_init(&w, TICK_MS, cases[i].now_ms);
		time_wheel_add(&w, &e, cases[i].at_ms);
		cr_expect_null(time_wheel_take(&w, cases[i].not_yet_ms), "case %zu", i);
		cr_expect_eq(time_wheel_take(&w, cases[i].due_ms), &e, "case %zu", i);
		cr_expect_null(time_wheel_take(&w, cases[i].due_ms + 60000), "case %zu: once", i);
	}
}

Test(time_wheel, nobody_has_to_look_before_the_first_is_due)
{
	struct time_wheel w;
	struct time_wheel_entry e[2] = {0};
	time_wheel_init(&w, TICK_MS, 1000);
	cr_expect_eq(time_wheel_next_ms(&w), INT64_MAX);
	time_wheel_add(&w, &e[0], 5050);
	cr_expect_eq(time_wheel_next_ms(&w), 5100);
	time_wheel_add(&w, &e[1], 3000);
	cr_expect_eq(time_wheel_next_ms(&w), 3000);
	cr_expect_eq(time_wheel_take(&w, 5100), &e[1], "both are due");
	cr_expect_leq(time_wheel_next_ms(&w), 5100);
	cr_expect_eq(time_wheel_take(&w, 5100), &e[0]);
	cr_expect_eq(time_wheel_next_ms(&w), INT64_MAX);
	time_wheel_add(&w, &e[0], 5100 + TICK_MS * 5000);
	cr_expect_eq(time_wheel_next_ms(&w), 5100 + TICK_MS * 127, "the farthest");
}

Test(time_wheel, removed_entries_never_come)
{
	struct time_wheel w;
	struct time_wheel_entry e[3] = {0};
	time_wheel_init(&w, TICK_MS, 0);
	time_wheel_remove(&e[0]);
	for (int i = 0; i < 3; i++)
		time_wheel_add(&w, &e[i], 500);
	time_wheel_remove(&e[1]);
	time_wheel_remove(&e[1]);
	cr_expect_eq(time_wheel_take(&w, 500), &e[0]);
	time_wheel_remove(&e[2]); /* is due already */
	cr_expect_null(time_wheel_take(&w, 500));
	time_wheel_add(&w, &e[1], 700);
	cr_expect_eq(time_wheel_take(&w, 700), &e[1], "and can be added again");
}

Test(time_wheel, after_a_long_sleep_all_are_due)
{
	struct time_wheel w;
	struct time_wheel_entry e[50] = {0};
	time_wheel_init(&w, TICK_MS, 0);
	for (int i = 0; i < 50; i++)
		time_wheel_add(&w, &e[i], i * 250);
	cr_expect_eq(take_all(&w, INT64_C(100000000)), 50);
	time_wheel_add(&w, &e[0], 100000300);
	cr_expect_eq(take_all(&w, INT64_C(100000200)), 0);
	cr_expect_eq(take_all(&w, INT64_C(100000300)), 1);
}

Test(time_wheel, many_that_are_put_off_by_chance_come_within_a_tick)
{
	struct time_wheel w;
	struct waiter *all = calloc(500, sizeof *all);
	int64_t now_ms = 12345;
	srand(1);
	time_wheel_init(&w, TICK_MS, now_ms);
	for (int i = 0; i < 500; i++) {
		all[i].at_ms = now_ms + rand() % 12000;
		time_wheel_add(&w, &all[i].entry, all[i].at_ms);
	}
	for (int step = 0; step < 2000; step++) {
		int64_t before_ms = now_ms;
		now_ms += rand() % 50;
		for (struct time_wheel_entry *e; (e = time_wheel_take(&w, now_ms));) {
			struct waiter *x = (struct waiter *)e; /* its first member */
			cr_assert(x->at_ms <= now_ms && x->at_ms > before_ms - 2 * TICK_MS, "at %lld: due %lld", (long long)now_ms, (long long)x->at_ms);
			x->at_ms = now_ms + rand() % 12000;
			time_wheel_add(&w, e, x->at_ms);
		}
		struct waiter *x = &all[rand() % 500];
		time_wheel_remove(&x->entry);
		x->at_ms = now_ms + rand() % 12000;
		time_wheel_add(&w, &x->entry, x->at_ms);
	}
	free(all);
}
