#include "agent/waits/wait_log.h"

#include <criterion/criterion.h>

#define MS 1000000ll

static void add(struct wait_log *l, enum wait_event_kind kind, uint32_t tid, int64_t at_ms)
{
	wait_log_add(l, &(struct wait_event){.kind = (uint8_t)kind, .tid = tid, .time_ns = at_ms * MS});
}

static int64_t length_ms(const struct wait *w)
{
	return (w->in_ns - w->out_ns) / MS;
}

Test(wait_log, a_wait_lasts_from_out_to_in_and_has_the_stack_before_it)
{
	struct wait_log *l = wait_log_new();
	add(l, WAIT_EVENT_IN, 7, 30); /* as it comes from another CPU's ring */
	add(l, WAIT_EVENT_STACK, 7, 10);
	add(l, WAIT_EVENT_OUT, 7, 10);
	wait_log_settle(l, 20 * MS);
	cr_assert_eq(l->wait_count, 0, "what comes later is not looked at yet");
	wait_log_settle(l, 40 * MS);
	cr_assert_eq(l->wait_count, 1);
	cr_assert_eq(length_ms(&l->waits[0]), 20);
	cr_assert_eq(l->waits[0].stack_ns, 10 * MS);
	cr_assert_eq(wait_log_find(l, 7)->switches, 1);
	cr_assert_null(wait_log_find(l, 8));
	wait_log_free(l);
}

/* For who wants to know what each thread did at each moment. */
Test(wait_log, all_waits_of_a_window)
{
	struct wait_log *l = wait_log_new();
	l->keep_all = true;
	l->opened_ns = 100 * MS;
	add(l, WAIT_EVENT_IN, 7, 130); /* slept since before the window */
	add(l, WAIT_EVENT_OUT, 7, 140);
	add(l, WAIT_EVENT_IN, 7, 160);
	add(l, WAIT_EVENT_IN, 7, 170); /* what is before it is lost */
	add(l, WAIT_EVENT_OUT, 7, 172);
	add(l, WAIT_EVENT_LOSS, 0, 174);
	add(l, WAIT_EVENT_IN, 7, 180);
	wait_log_settle(l, 200 * MS);
	cr_assert_eq(l->wait_count, 4);
	cr_assert(l->waits[0].out_ns == 100 * MS && length_ms(&l->waits[0]) == 30 && l->waits[0].doubtful && !l->waits[0].stack_ns);
	cr_assert(l->waits[1].out_ns == 140 * MS && length_ms(&l->waits[1]) == 20 && !l->waits[1].doubtful);
	cr_assert(l->waits[2].out_ns == 160 * MS && l->waits[2].doubtful && l->waits[3].out_ns == 172 * MS && l->waits[3].doubtful);
	wait_log_free(l);
}
Test(wait_log, who_sleeps_all_the_time_waits_all_the_time)
{
	struct wait_log *l = wait_log_new();
	add(l, WAIT_EVENT_ASLEEP, 7, 100);
	add(l, WAIT_EVENT_STACK, 7, 150); /* a look */
	wait_log_finish(l, 1100 * MS);
	cr_assert_eq(l->wait_count, 1);
	cr_assert_eq(length_ms(&l->waits[0]), 1000);
	cr_assert(l->waits[0].began_before && l->waits[0].open);
	wait_log_free(l);
}

Test(wait_log, a_thread_that_is_born_has_not_waited)
{
	struct wait_log *l = wait_log_new();
	add(l, WAIT_EVENT_IN, 7, 500);
	add(l, WAIT_EVENT_STACK, 7, 600);
	add(l, WAIT_EVENT_OUT, 7, 600);
	wait_log_finish(l, 700 * MS);
	cr_assert_eq(l->wait_count, 1);
	cr_assert_eq(length_ms(&l->waits[0]), 100);
	cr_assert(!l->waits[0].began_before && l->waits[0].open);
	wait_log_free(l);
}

Test(wait_log, the_end_of_a_wait_that_was_lost_makes_no_long_one)
{
	struct wait_log *l = wait_log_new();
	add(l, WAIT_EVENT_OUT, 7, 0);
	add(l, WAIT_EVENT_STACK, 7, 900);
	add(l, WAIT_EVENT_OUT, 7, 900);
	add(l, WAIT_EVENT_IN, 7, 910);
	wait_log_finish(l, 1000 * MS);
	cr_assert_eq(l->lost, 1);
	cr_assert_eq(l->wait_count, 1);
	cr_assert_eq(length_ms(&l->waits[0]), 10);
	wait_log_free(l);
}

Test(wait_log, what_may_have_run_while_records_are_missing_is_no_wait)
{
	struct wait_log *l = wait_log_new();
	add(l, WAIT_EVENT_STACK, 7, 10);
	add(l, WAIT_EVENT_OUT, 7, 10);
	add(l, WAIT_EVENT_LOSS, 0, 20);
	add(l, WAIT_EVENT_IN, 7, 12700); /* its own "in" and "out" may be among what is missing */
	add(l, WAIT_EVENT_STACK, 7, 12800);
	add(l, WAIT_EVENT_OUT, 7, 12800);
	add(l, WAIT_EVENT_IN, 7, 12900);
	wait_log_finish(l, 13000 * MS);
	cr_assert_eq(l->wait_count, 1);
	cr_assert_eq(length_ms(&l->waits[0]), 100, "what began afterwards is in no doubt");
	cr_assert_eq(l->lost, 1);
	wait_log_free(l);
}

Test(wait_log, of_whom_no_switch_is_missing_the_wait_is_known)
{
	struct wait_log *l = wait_log_new();
	for (uint32_t tid = 7; tid < 9; tid++) {
		add(l, WAIT_EVENT_ASLEEP, tid, 10);
		add(l, WAIT_EVENT_STACK, tid, 10);
	}
	add(l, WAIT_EVENT_LOSS, 0, 20);
	wait_log_settle(l, 30 * MS);
	wait_log_counted(l, 7, 0);
	wait_log_counted(l, 8, 2);
	wait_log_finish(l, 110 * MS);
	cr_assert_eq(l->wait_count, 1);
	cr_assert_eq(l->threads[l->waits[0].thread].tid, 7);
	cr_assert_eq(l->lost, 1);
	wait_log_free(l);
}

Test(wait_log, a_stack_of_long_ago_is_not_that_of_a_switch)
{
	struct wait_log *l = wait_log_new();
	add(l, WAIT_EVENT_STACK, 7, 10);
	add(l, WAIT_EVENT_OUT, 7, 50);
	add(l, WAIT_EVENT_IN, 7, 60);
	wait_log_finish(l, 100 * MS);
	cr_assert_eq(l->wait_count, 0, "it is counted, without a stack");
	cr_assert_eq(wait_log_find(l, 7)->before_looks.sleeping[wait_length_of(10 * MS)].count, 1);
	wait_log_free(l);
}

Test(wait_log, who_could_run_is_counted_apart)
{
	struct wait_log *l = wait_log_new();
	wait_log_add(l, &(struct wait_event){.kind = WAIT_EVENT_OUT, .tid = 7, .time_ns = 1 * MS, .runnable = true});
	add(l, WAIT_EVENT_IN, 7, 3);
	wait_log_finish(l, 10 * MS);
	cr_assert_eq(wait_log_find(l, 7)->before_looks.ready[wait_length_of(2 * MS)].ns, 2 * MS);
	cr_assert_eq(wait_log_find(l, 7)->before_looks.sleeping[wait_length_of(2 * MS)].ns, 0);
	wait_log_free(l);
}

Test(wait_log, who_leaves_for_good_does_not_wait)
{
	struct wait_log *l = wait_log_new();
	add(l, WAIT_EVENT_OUT, 7, 10);
	wait_log_settle(l, INT64_MAX);
	wait_log_ended(l, 7);
	wait_log_ended(l, 8);
	wait_log_finish(l, 1000 * MS);
	for (size_t i = 0; i < WAIT_LENGTHS; i++)
		cr_assert_eq(wait_log_find(l, 7)->before_looks.sleeping[i].count, 0);
	wait_log_free(l);
}

Test(wait_log, a_sleep_at_the_beginning_keeps_the_stack_that_was_taken_of_it)
{
	struct wait_log *l = wait_log_new();
	add(l, WAIT_EVENT_STACK, 7, 90);
	add(l, WAIT_EVENT_OUT, 7, 90); /* while the other threads' events were opened */
	add(l, WAIT_EVENT_ASLEEP, 7, 100);
	wait_log_finish(l, 200 * MS);
	cr_assert_eq(l->wait_count, 1);
	cr_assert_eq(length_ms(&l->waits[0]), 100);
	cr_assert_eq(l->waits[0].stack_ns, 90 * MS);
	cr_assert(l->waits[0].began_before);
	cr_assert_eq(l->lost, 0);
	wait_log_free(l);
}

Test(wait_log, lengths_are_powers_of_two)
{
	cr_assert_eq(wait_length_of(-5), 0);
	cr_assert_eq(wait_length_of(999), 0);
	cr_assert_eq(wait_length_of(1000), 1);
	cr_assert_eq(wait_length_of(1999), 1);
	cr_assert_eq(wait_length_of(2000), 2);
	cr_assert_eq(wait_length_of(INT64_MAX), WAIT_LENGTHS - 1);
}

Test(wait_log, a_pause_ends_what_is_recorded_and_what_follows_begins_anew)
{
	struct wait_log *l = wait_log_new();
	add(l, WAIT_EVENT_STACK, 7, 10);
	add(l, WAIT_EVENT_OUT, 7, 10);
	add(l, WAIT_EVENT_PAUSE, 0, 30);
	add(l, WAIT_EVENT_IN, 7, 900); /* of a wait that began unseen */
	add(l, WAIT_EVENT_STACK, 7, 910);
	add(l, WAIT_EVENT_OUT, 7, 910);
	add(l, WAIT_EVENT_IN, 7, 915);
	wait_log_finish(l, 1000 * MS);
	cr_assert_eq(l->wait_count, 2);
	cr_assert_eq(length_ms(&l->waits[0]), 20);
	cr_assert(l->waits[0].open);
	cr_assert_eq(length_ms(&l->waits[1]), 5);
	cr_assert_eq(l->lost, 0);
	cr_assert_eq(l->thread_count, 1);
	wait_log_free(l);
}
