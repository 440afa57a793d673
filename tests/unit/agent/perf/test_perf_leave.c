#include "agent/perf/perf_leave.h"

#include <criterion/criterion.h>

#define MS 1000000ll

static struct perf_leave leave_of(int64_t hertz, uint64_t switches, enum perf_part part)
{
	struct perf_opener o;
	struct perf_leave l;
	if (switches)
		perf_opener_init_switches(&o, switches);
	else
		perf_opener_init(&o, hertz, false, true);
	o.part = part;
	perf_leave_init(&l, &o);
	return l;
}

Test(perf_leave, is_for_a_second_of_cpu_time)
{
	cr_expect_eq(leave_of(99, 0, PERF_PART_BOTH).limit, 99);
	cr_expect_eq(leave_of(999, 0, PERF_PART_BOTH).limit, 999);
	cr_expect_eq(leave_of(1, 0, PERF_PART_BOTH).limit, 8);
}

Test(perf_leave, each_overflow_that_was_read_is_granted_once)
{
	struct perf_leave l = leave_of(100, 0, PERF_PART_BOTH);
	cr_expect_eq(perf_leave_due(&l, 0), 0, "none was used");
	perf_leave_overflow(&l);
	cr_expect_eq(perf_leave_due(&l, 100 * MS), 0, "soon enough later");
	cr_expect_eq(perf_leave_due(&l, 500 * MS), 1);
	cr_expect_eq(perf_leave_due(&l, 2000 * MS), 0);
	for (int i = 0; i < 25; i++) {
		cr_expect_eq(perf_leave_due(&l, 501 * MS), 0);
		perf_leave_overflow(&l);
	}
	cr_expect_eq(perf_leave_due(&l, 501 * MS), 25, "a quarter is not left to the clock");
}

/* However much is lost, the kernel is never ahead by more than the limit and an overflow. */
Test(perf_leave, what_was_lost_is_granted_by_the_records_of_an_overflow)
{
	struct perf_leave stacks = leave_of(0, 9, PERF_PART_STACKS), records = leave_of(0, 9, PERF_PART_RECORDS), both = leave_of(0, 9, PERF_PART_BOTH);
	perf_leave_lost(&stacks, 300);
	cr_expect_eq(perf_leave_due(&stacks, 0), 300);
	perf_leave_lost(&both, 19 * 300);
	cr_expect_eq(perf_leave_due(&both, 0), 300, "nine switches write two records each, and one has its stack");
	int granted = 0;
	for (int i = 0; i < 1000; i++) { /* in pieces */
		perf_leave_lost(&records, 129);
		perf_leave_lost(&records, 64);
		granted += perf_leave_due(&records, i * 1000 * MS);
	}
	cr_expect_eq(granted, 1000 * (129 + 64) / 129);
}
