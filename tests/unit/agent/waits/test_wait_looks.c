#include "agent/waits/wait_looks.h"

#include <criterion/criterion.h>

#define MS 1000000ll

static void look(struct wait_looks *l, int64_t at_ms, bool asleep, uint64_t ran)
{
	const struct wait_event stack = {.time_ns = at_ms * MS, .lock = 9};
	wait_looks_begin(l, at_ms * MS, 0);
	struct look_thread *t = wait_looks_thread(l, 7);
	if (t->ran != ran)
		wait_looks_change(l, t, ran, asleep, &stack);
	wait_looks_end(l);
}

Test(wait_looks, the_time_between_different_looks_is_halved)
{
	struct wait_looks l;
	struct wait_log *log = wait_log_new();
	wait_looks_init(&l, log, 0);
	look(&l, 10, false, 1);
	look(&l, 20, true, 2);
	look(&l, 30, true, 2);
	look(&l, 50, true, 3); /* another wait */
	look(&l, 60, false, 4);
	wait_looks_finish(&l, 70 * MS);
	cr_assert_eq(log->wait_count, 2);
	cr_assert_eq(log->waits[0].out_ns, 15 * MS);
	cr_assert_eq(log->waits[0].in_ns, 40 * MS);
	cr_assert_eq(log->waits[0].least_ns, 10 * MS, "from its first look to its last");
	cr_assert_eq(log->waits[0].stack_ns, 20 * MS);
	cr_assert(log->waits[0].looked && !log->waits[0].open && !log->waits[0].began_before);
	cr_assert_eq(log->waits[1].out_ns, 40 * MS);
	cr_assert_eq(log->waits[1].in_ns, 55 * MS);
	cr_assert_eq(log->waits[1].least_ns, 0);
	cr_assert_eq(log->waits[1].lock, 9);
	wait_looks_fini(&l);
	wait_log_free(log);
}

/* Who looks did not run between the looks at 20 and 16,020: that time is neither's wait, unless the thread did not run at all. */
Test(wait_looks, the_time_before_a_late_look_is_nobody_s)
{
	struct wait_looks l;
	struct wait_log *log = wait_log_new();
	wait_looks_init(&l, log, 0);
	for (int at = 10; at <= 20; at += 10) {
		wait_looks_begin(&l, at * MS, at * MS);
		for (uint32_t tid = 7; tid <= 8; tid++) {
			struct look_thread *t = wait_looks_thread(&l, tid);
			if (t->ran != 1)
				wait_looks_change(&l, t, 1, true, &(struct wait_event){.time_ns = 10 * MS});
		}
		wait_looks_end(&l);
	}
	cr_assert_eq(l.stalled_ns, 0);
	wait_looks_begin(&l, 16020 * MS, 40 * MS);
	wait_looks_change(&l, wait_looks_thread(&l, 7), 900, true, &(struct wait_event){.time_ns = 16020 * MS});
	wait_looks_thread(&l, 8);
	wait_looks_end(&l);
	cr_assert_eq(l.stalled_ns, 16000 * MS);
	wait_looks_finish(&l, 16030 * MS);
	cr_assert_eq(log->wait_count, 3);
	cr_expect_eq(log->waits[0].in_ns, 20 * MS);
	cr_expect_eq(log->waits[1].out_ns, 16020 * MS);
	cr_expect_eq(log->waits[2].out_ns, 0);
	cr_expect_eq(log->waits[2].in_ns, 16030 * MS, "the kernel says that it slept through all of it");
	wait_looks_fini(&l);
	wait_log_free(log);
}

Test(wait_looks, who_sleeps_at_all_looks_has_waited_all_the_time)
{
	struct wait_looks l;
	struct wait_log *log = wait_log_new();
	wait_looks_init(&l, log, 1 * MS);
	look(&l, 10, true, 5);
	look(&l, 20, true, 5);
	wait_looks_finish(&l, 100 * MS);
	cr_assert_eq(log->wait_count, 1);
	cr_assert_eq(log->waits[0].out_ns, 1 * MS);
	cr_assert_eq(log->waits[0].in_ns, 100 * MS);
	cr_assert(log->waits[0].began_before && log->waits[0].open);
	wait_looks_fini(&l);
	wait_log_free(log);
}

Test(wait_looks, threads_come_and_end)
{
	struct wait_looks l;
	struct wait_log *log = wait_log_new();
	wait_looks_init(&l, log, 0);
	wait_looks_begin(&l, 10 * MS, 0);
	wait_looks_change(&l, wait_looks_thread(&l, 3), 1, true, &(struct wait_event){.time_ns = 10 * MS});
	wait_looks_end(&l);
	wait_looks_begin(&l, 20 * MS, 0);
	wait_looks_change(&l, wait_looks_thread(&l, 2), 1, true, &(struct wait_event){.time_ns = 20 * MS});
	wait_looks_end(&l);
	cr_assert_eq(log->wait_count, 1, "3 has ended");
	cr_assert_eq(log->waits[0].in_ns, 15 * MS);
	cr_assert_eq(l.count, 1);
	wait_looks_finish(&l, 30 * MS);
	cr_assert_eq(log->wait_count, 2);
	cr_assert_eq(log->waits[1].out_ns, 15 * MS, "it came between the looks");
	cr_assert_not(log->waits[1].began_before);
	wait_looks_fini(&l);
	wait_log_free(log);
}

Test(wait_looks, sleep_without_a_stack_is_counted_as_unseen)
{
	struct wait_looks l;
	struct wait_log *log = wait_log_new();
	wait_looks_init(&l, log, 0);
	wait_looks_begin(&l, 10 * MS, 0);
	wait_looks_change(&l, wait_looks_thread(&l, 3), 1, true, &(struct wait_event){0});
	wait_looks_end(&l);
	wait_looks_finish(&l, 30 * MS);
	cr_assert_eq(log->wait_count, 0);
	cr_assert_eq(l.unseen_ns, 30 * MS);
	wait_looks_fini(&l);
	wait_log_free(log);
}

/* All was recorded until 100: the thread has slept since 30, and runs on at the look at 130. */
Test(wait_looks, a_wait_that_was_recorded_goes_on)
{
	struct wait_looks l;
	struct wait_log *log = wait_log_new();
	wait_log_add(log, &(struct wait_event){.kind = WAIT_EVENT_OUT, .tid = 7, .time_ns = 30 * MS});
	wait_log_settle(log, INT64_MAX);
	wait_looks_init(&l, log, 100 * MS);
	look(&l, 100, true, 5);
	wait_looks_adopt(&l);
	cr_assert_not(wait_log_find(log, 7)->off, "records tell nothing more of it");
	wait_log_add(log, &(struct wait_event){.kind = WAIT_EVENT_PAUSE, .time_ns = 100 * MS});
	wait_log_settle(log, INT64_MAX);
	look(&l, 120, true, 5);
	look(&l, 130, false, 6);
	wait_looks_finish(&l, 200 * MS);
	cr_assert_eq(log->wait_count, 1);
	cr_assert_eq(log->waits[0].out_ns, 30 * MS);
	cr_assert_eq(log->waits[0].in_ns, 125 * MS);
	cr_assert_eq(log->waits[0].least_ns, 90 * MS);
	cr_assert_not(log->waits[0].began_before);
	wait_looks_fini(&l);
	wait_log_free(log);
}

static void read_at(struct wait_looks *l, int64_t at_ms, uint64_t run_ms)
{
	wait_looks_begin(l, at_ms * MS, 0);
	wait_looks_times(l, wait_looks_thread(l, 7), &(struct wait_reading){.at_ns = at_ms * MS, .run_ns = run_ms * MS});
	wait_looks_end(l);
}

/* The first, each that differs, and the last one before that: nothing happened until then. */
Test(wait_looks, readings_that_say_something)
{
	static const int64_t due[] = {10, 30, 40, 50, 70};
	struct wait_looks l;
	struct wait_log *log = wait_log_new();
	log->keep_all = true;
	wait_looks_init(&l, log, 0);
	read_at(&l, 10, 1);
	read_at(&l, 20, 1);
	read_at(&l, 30, 1);
	read_at(&l, 40, 2);
	read_at(&l, 50, 3);
	read_at(&l, 60, 3);
	read_at(&l, 70, 3);
	wait_looks_finish(&l, 80 * MS);
	cr_assert_eq(log->reading_count, sizeof due / sizeof *due);
	for (size_t i = 0; i < log->reading_count; i++)
		cr_expect_eq(log->readings[i].at_ns, due[i] * MS);
	cr_expect_eq(log->threads[log->readings[0].thread].tid, 7);
	wait_looks_fini(&l);
	wait_log_free(log);
}

Test(wait_looks, readings_are_kept_where_single_waits_are)
{
	struct wait_looks l;
	struct wait_log *log = wait_log_new();
	wait_looks_init(&l, log, 0);
	read_at(&l, 10, 1);
	wait_looks_finish(&l, 80 * MS);
	cr_assert_eq(log->reading_count, 0);
	wait_looks_fini(&l);
	wait_log_free(log);
}
