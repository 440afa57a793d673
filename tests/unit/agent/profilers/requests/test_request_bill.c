#include "agent/profilers/requests/request_bill.h"

#include <criterion/criterion.h>

#define MS 1000000ull

static struct request_trail trail;

static void add_switch(uint32_t tid, uint64_t at_ms, uint32_t number)
{
	request_trail_switch(&trail, &(struct channel_request_switch){.time_ns = at_ms * MS, .tid = tid, .number = number});
}

static void add_call(uint32_t number, uint32_t shape, uint64_t from_ms, uint64_t to_ms)
{
	request_trail_call(&trail, &(struct channel_request_call){.start_ns = from_ms * MS, .end_ns = to_ms * MS, .number = number, .shape = shape});
}

static void add_window(uint64_t from_ms, uint64_t to_ms)
{
	request_trail_window(&trail, &(struct channel_request_window){from_ms * MS, to_ms * MS});
}

static struct request_bill bill_of(uint32_t number, uint64_t from_ms, uint64_t to_ms)
{
	struct request_bill b = {0};
	uint64_t sum;
	request_trail_sort(&trail);
	request_bill_add(&b, &trail, &(struct channel_request_done){.start_ns = from_ms * MS, .end_ns = to_ms * MS, .number = number});
	request_bill_finish(&b);
	sum = b.thread_ns + b.await_ns + b.unseen_ns;
	for (size_t i = 0; i < b.call_count; i++)
		sum += b.calls[i].ns;
	cr_expect_eq(sum, b.total_ns, "the parts add up");
	request_trail_fini(&trail);
	return b;
}

/* 10 ms of work, 50 ms of a call, a timer of 20, on another thread the rest; another request has the first thread meanwhile. */
Test(request_bill, each_moment_is_of_one_part)
{
	add_window(0, 1000);
	add_switch(1, 100, 7);
	add_switch(1, 110, 8);
	add_switch(1, 150, 0);
	add_switch(2, 160, 7);
	add_switch(2, 165, 0);
	add_switch(3, 185, 7);
	add_switch(3, 200, 0);
	add_call(7, 3, 110, 160);
	add_call(8, 3, 120, 130);
	struct request_bill b = bill_of(7, 100, 200);
	cr_expect(b.total_ns == 100 * MS && b.thread_ns == 30 * MS && b.await_ns == 20 * MS && b.unseen_ns == 0);
	cr_assert_eq(b.call_count, 1);
	cr_expect(b.calls[0].shape == 3 && b.calls[0].count == 1 && b.calls[0].ns == 50 * MS && b.calls[0].thread_ns == 0 && b.calls[0].longest_ns == 50 * MS);
}

Test(request_bill, a_thread_that_stays_during_a_call)
{
	add_window(0, 1000);
	add_switch(1, 100, 7);
	add_switch(1, 200, 0);
	add_call(7, 3, 120, 190);
	struct request_bill b = bill_of(7, 100, 200);
	cr_expect(b.thread_ns == 100 * MS && b.calls[0].thread_ns == 70 * MS && b.calls[0].ns == 0);
}

/* Side by side they count once: for the last one begun. Beyond the window nothing is known but calls. */
Test(request_bill, calls_side_by_side_and_windows)
{
	add_window(0, 150);
	add_window(150, 160);
	add_window(300, 400);
	add_switch(1, 100, 7);
	add_switch(1, 105, 0);
	add_switch(1, 155, 7);
	add_call(7, 3, 105, 130);
	add_call(7, 4, 110, 140);
	add_call(7, 4, 200, 250);
	struct request_bill b = bill_of(7, 100, 300);
	cr_expect(b.thread_ns == 10 * MS, "%llu", (unsigned long long)b.thread_ns);
	cr_expect(b.await_ns == 15 * MS && b.unseen_ns == 90 * MS);
	cr_assert_eq(b.call_count, 2);
	cr_expect(b.calls[0].shape == 4 && b.calls[0].count == 2 && b.calls[0].ns == 80 * MS);
	cr_expect(b.calls[1].shape == 3 && b.calls[1].ns == 5 * MS);
}

Test(request_bill, many_kinds_of_calls_are_others)
{
	for (uint32_t i = 0; i < 40; i++)
		add_call(7, i + 1, 100 + i, 101 + i);
	struct request_bill b = bill_of(7, 100, 150);
	cr_expect_eq(b.call_count, BILL_CALLS + 1);
	cr_expect(b.calls[0].shape == UINT32_MAX && b.calls[0].count == 40 - BILL_CALLS && b.unseen_ns == 10 * MS);
}

/* Whatever comes in, in whatever order. */
Test(request_bill, parts_add_up_for_anything)
{
	uint32_t dice = 1;
	for (unsigned round = 0; round < 300; round++) {
		for (unsigned i = 0; i < 40; i++) {
			dice = dice * 1664525u + 1013904223u;
			uint64_t at = dice >> 23;
			add_switch(dice >> 8 & 3, at, dice >> 12 & 1 ? 7 : dice >> 13 & 1);
			add_call(7, 1 + (dice >> 5 & 15), at, at + (dice & 63));
			if (i < 5)
				add_window(100 * i + (dice & 63), 100 * i + 64 + (dice >> 6 & 31));
		}
		bill_of(7, 50, 400);
	}
}

/* What comes before a window says nothing of the time in it. */
Test(request_bill, a_switch_outside_of_the_windows)
{
	add_switch(1, 100, 7);
	add_window(120, 180);
	struct request_bill b = bill_of(7, 100, 200);
	cr_expect(b.thread_ns == 0 && b.await_ns == 60 * MS && b.unseen_ns == 40 * MS);
}
