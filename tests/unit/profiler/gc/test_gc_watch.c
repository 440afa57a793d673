#include "profiler/gc/gc_watch.h"

#include <criterion/criterion.h>

static struct channel_collection taken[GC_WATCH_CAP + 1];

static void check(size_t i, uint32_t tid, uint64_t start_ns, uint64_t end_ns, uint32_t generation)
{
	cr_expect_eq(taken[i].tid, tid, "collection %zu: thread %u", i, taken[i].tid);
	cr_expect_eq(taken[i].start_ns, start_ns);
	cr_expect_eq(taken[i].end_ns, end_ns);
	cr_expect_eq(taken[i].generation, generation);
}

Test(gc_watch, collections_are_taken_once_in_their_order)
{
	gc_watch_reset();
	gc_watch_started(7, 0, 100);
	cr_expect_eq(gc_watch_take(taken, 8), 0, "an unfinished one is not given");
	gc_watch_finished(7, 150);
	gc_watch_started(8, 2, 200);
	gc_watch_finished(8, 300);
	cr_assert_eq(gc_watch_take(taken, 8), 2);
	check(0, 7, 100, 150, 0);
	check(1, 8, 200, 300, 2);
	cr_expect_eq(gc_watch_take(taken, 8), 0);
}

/* A background collection begins on the thread that needed memory and ends on its own; others run meanwhile. */
Test(gc_watch, background_collections_are_left_out)
{
	gc_watch_reset();
	gc_watch_started(7, 2, 100);
	gc_watch_started(9, 0, 120);
	gc_watch_finished(9, 130);
	gc_watch_finished(55, 200);
	cr_assert_eq(gc_watch_take(taken, 8), 1);
	check(0, 9, 120, 130, 0);
	gc_watch_started(7, 1, 300); /* takes the place of the one that never finished there */
	gc_watch_finished(7, 310);
	cr_assert_eq(gc_watch_take(taken, 8), 1);
	check(0, 7, 300, 310, 1);
}

Test(gc_watch, many_unfinished_ones_do_not_hinder)
{
	gc_watch_reset();
	for (uint32_t tid = 1; tid <= 20; tid++)
		gc_watch_started(tid, 2, tid);
	gc_watch_started(50, 1, 100);
	gc_watch_finished(50, 110);
	cr_assert_eq(gc_watch_take(taken, 8), 1);
	check(0, 50, 100, 110, 1);
}

Test(gc_watch, a_full_ring_drops_what_comes_and_says_so)
{
	gc_watch_reset();
	for (uint64_t i = 1; i <= GC_WATCH_CAP + 3; i++) {
		gc_watch_started(7, 0, i * 10);
		gc_watch_finished(7, i * 10 + 5);
	}
	cr_expect_eq(gc_watch_dropped(), 3);
	cr_assert_eq(gc_watch_take(taken, 10), 10, "no more than there is room for");
	check(0, 7, 10, 15, 0);
	cr_assert_eq(gc_watch_take(taken, GC_WATCH_CAP + 1), GC_WATCH_CAP - 10);
	check(0, 7, 110, 115, 0);
	check(GC_WATCH_CAP - 11, 7, GC_WATCH_CAP * 10, GC_WATCH_CAP * 10 + 5, 0);
	gc_watch_reset();
	cr_expect_eq(gc_watch_dropped(), 0);
}
