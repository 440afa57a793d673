#include "agent/profilers/requests/request_bill.h"

#include "common/base/mem.h"

#include <criterion/criterion.h>

#define MS 1000000ull

static struct request_trail trail;
static struct request_work work;

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
	request_bill_add(&b, &trail, &work, &(struct channel_request_done){.start_ns = from_ms * MS, .end_ns = to_ms * MS, .number = number});
	request_bill_finish(&b, 0);
	sum = b.thread_ns + b.await_ns + b.unseen_ns;
	for (size_t i = 0; i < b.call_count; i++)
		sum += b.calls[i].ns;
	cr_expect_eq(sum, b.total_ns, "the parts add up");
	sum = 0;
	for (size_t i = 0; i < DOING_COUNT; i++)
		sum += b.doing_ns[i];
	cr_expect_eq(sum, b.thread_ns, "and those of what was on a thread");
	request_trail_fini(&trail);
	request_work_fini(&work);
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

/* built cases: what a thread did while it worked for a request ---------------------------------------------------------- */

static void add_wait(uint32_t tid, uint64_t from_ms, uint64_t to_ms, enum request_doing doing, uint32_t place)
{
	GROW(work.spans, work.span_count, work.span_cap);
	int64_t from_ns = (int64_t)(from_ms * MS), to_ns = (int64_t)(to_ms * MS);
	work.spans[work.span_count++] = (struct work_span){.from_ns = from_ns, .to_ns = to_ns, .seen_from_ns = from_ns, .seen_to_ns = to_ns, .tid = tid,
							   .place = place, .doing = (uint8_t)doing, .recorded = true};
}

static void record_switches(uint64_t from_ms, uint64_t to_ms)
{
	work.windows = mem_calloc(1, sizeof *work.windows);
	work.windows[0] = (struct wait_window){(int64_t)(from_ms * MS), (int64_t)(to_ms * MS)};
	work.window_count = 1;
}

static void stop_all(uint64_t from_ms, uint64_t to_ms)
{
	work.stops = mem_calloc(1, sizeof *work.stops);
	work.stops[0] = (struct work_stop){(int64_t)(from_ms * MS), (int64_t)(to_ms * MS)};
	work.stop_count = 1;
}

static void sample_at(uint32_t tid, uint64_t first_ms, unsigned count)
{
	work.samples = mem_calloc(count, sizeof *work.samples);
	for (unsigned i = 0; i < count; i++)
		work.samples[work.sample_count++] = (struct work_sample){(int64_t)((first_ms + 10 * i) * MS), tid, i};
	work.period_ns = 10 * MS;
}

/* Request 7 from 100 to 200 on thread 1 all the time, switches recorded. */
static struct request_bill bill_of_stay(void)
{
	add_window(0, 1000);
	add_switch(1, 100, 7);
	add_switch(1, 200, 0);
	record_switches(0, 1000);
	request_work_sort(&work);
	return bill_of(7, 100, 200);
}

Test(request_bill, each_cause_alone)
{
	static const enum request_doing causes[] = {DOING_LOCK, DOING_IO, DOING_TASK, DOING_NO_CPU, DOING_SLEEP, DOING_BLOCKED};
	for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
		add_wait(1, 90, 105, DOING_IDLE, WORK_NO_PLACE); /* of what was before: its end is the beginning of work */
		add_wait(1, 110, 190, causes[i], 4);
		add_wait(2, 100, 200, DOING_LOCK, 5); /* another thread */
		struct request_bill b = bill_of_stay();
		cr_expect_eq(b.doing_ns[causes[i]], 80 * MS);
		cr_expect_eq(b.doing_ns[DOING_CODE], 15 * MS);
		cr_expect_eq(b.await_ns, 5 * MS);
		cr_assert_eq(b.place_count, 1);
		cr_expect(b.places[0].place == 4 && b.places[0].doing == causes[i] && b.places[0].ns == 80 * MS && b.places[0].waits == 1);
	}
}

Test(request_bill, code_alone)
{
	add_wait(1, 90, 100, DOING_IDLE, WORK_NO_PLACE);
	struct request_bill b = bill_of_stay();
	cr_expect_eq(b.doing_ns[DOING_CODE], 100 * MS);
}

/* Who was suspended for it is blocked in the runtime, and who collects runs: both are the collection's. */
Test(request_bill, collections)
{
	stop_all(120, 170);
	add_wait(1, 121, 150, DOING_BLOCKED, WORK_NO_PLACE);
	struct request_bill b = bill_of_stay();
	cr_expect(b.doing_ns[DOING_GC] == 50 * MS && b.doing_ns[DOING_BLOCKED] == 0 && b.doing_ns[DOING_CODE] == 50 * MS);
}

Test(request_bill, mixed_lock_io_and_code)
{
	add_wait(1, 110, 140, DOING_LOCK, 1);
	add_wait(1, 150, 190, DOING_IO, 2);
	add_wait(1, 192, 194, DOING_LOCK, 1);
	struct request_bill b = bill_of_stay();
	cr_expect(b.doing_ns[DOING_LOCK] == 32 * MS && b.doing_ns[DOING_IO] == 40 * MS && b.doing_ns[DOING_CODE] == 28 * MS);
	cr_expect(b.place_count == 2 && b.places[0].place == 2 && b.places[1].waits == 2);
}

/* A task that is waited for while its call is under way: the second witness. */
Test(request_bill, mixed_task_and_call)
{
	add_call(7, 3, 120, 180);
	add_wait(1, 110, 190, DOING_TASK, 1);
	struct request_bill b = bill_of_stay();
	cr_expect(b.doing_ns[DOING_TASK] == 80 * MS && b.task_call_ns == 60 * MS && b.calls[0].thread_ns == 60 * MS);
}

/* Two threads at once: that one of them runs brings the request on. */
Test(request_bill, mixed_threads_at_once)
{
	add_switch(2, 150, 7);
	add_switch(2, 180, 0);
	add_wait(1, 100, 200, DOING_LOCK, 1);
	add_wait(2, 160, 170, DOING_IO, 2);
	struct request_bill b = bill_of_stay();
	cr_expect(b.doing_ns[DOING_CODE] == 20 * MS && b.doing_ns[DOING_LOCK] == 80 * MS && b.doing_ns[DOING_IO] == 0);
}

/* Where switches are not recorded, samples tell how much of the rest was code: as much as there is room for. */
Test(request_bill, what_only_samples_tell)
{
	for (unsigned samples = 3; samples <= 30; samples += 27) {
		struct request_bill b = {0};
		add_window(0, 1000);
		add_switch(1, 100, 7);
		add_switch(1, 200, 0);
		add_wait(1, 150, 200, DOING_LOCK, 1);
		sample_at(1, 100, samples);
		request_work_sort(&work);
		request_trail_sort(&trail);
		request_bill_add(&b, &trail, &work, &(struct channel_request_done){.start_ns = 100 * MS, .end_ns = 200 * MS, .number = 7});
		request_bill_finish(&b, work.period_ns);
		cr_expect(b.doing_ns[DOING_LOCK] == 50 * MS && b.untold_samples == (samples < 5 ? samples : 5));
		cr_expect_eq(b.doing_ns[DOING_CODE], (samples < 5 ? samples * 10 : 50) * MS);
		cr_expect_eq(b.doing_ns[DOING_UNTOLD], 50 * MS - b.doing_ns[DOING_CODE]);
		request_trail_fini(&trail);
		request_work_fini(&work);
	}
}

/* A look that met the thread before or after the stay says nothing of it, however long the wait is taken for. */
Test(request_bill, looks_at_other_moments)
{
	add_window(0, 1000);
	add_switch(1, 100, 7);
	add_switch(1, 110, 0);
	add_wait(1, 90, 104, DOING_IDLE, WORK_NO_PLACE);
	add_wait(1, 104, 120, DOING_LOCK, 1);
	work.spans[0].recorded = work.spans[1].recorded = false;
	work.spans[0].seen_to_ns = 95 * (int64_t)MS;
	work.spans[1].seen_from_ns = 108 * (int64_t)MS;
	request_work_sort(&work);
	struct request_bill b = bill_of(7, 100, 110);
	cr_expect(b.await_ns == 0 && b.doing_ns[DOING_LOCK] == 6 * MS && b.doing_ns[DOING_UNTOLD] == 4 * MS);
}

/* A thread that makes no switch in a window has slept through it, or run: the window says nothing of it. */
Test(request_bill, no_switch_in_a_window)
{
	struct request_bill b = bill_of_stay();
	cr_expect_eq(b.doing_ns[DOING_UNTOLD], 100 * MS);
}

/* Which request a moment of a thread belongs to. */
Test(request_trail, the_request_at_a_moment)
{
	add_window(0, 1000);
	add_switch(1, 100, 7);
	add_switch(1, 110, 8);
	add_switch(2, 105, 9);
	add_switch(1, 120, 0);
	request_trail_sort(&trail);
	cr_expect_eq(request_trail_at(&trail, 1, 99 * MS), 0);
	cr_expect_eq(request_trail_at(&trail, 1, 100 * MS), 7);
	cr_expect_eq(request_trail_at(&trail, 1, 110 * MS), 8);
	cr_expect_eq(request_trail_at(&trail, 1, 120 * MS), 0);
	cr_expect_eq(request_trail_at(&trail, 2, 999 * MS), 9);
	cr_expect_eq(request_trail_at(&trail, 3, 110 * MS), 0);
	request_trail_fini(&trail);
}

/* what the scheduler's figures say of the rest ---------------------------------------------------------------------------- */

static void read_times(const struct rest_reading *list, size_t count)
{
	request_work_sort(&work);
	request_rest_of(list, count, &work);
}

/* The time at `ms`; run and waited so far. */
#define READING(ms, run_ms, no_cpu_ms) {.at_ns = (int64_t)((ms) * MS), .run_ns = (run_ms) * MS, .no_cpu_ns = (no_cpu_ms) * MS, .tid = 1}

static struct request_bill bill_by_readings(unsigned samples)
{
	struct request_bill b = {0};
	add_window(0, 1000);
	add_switch(1, 100, 7);
	add_switch(1, 200, 0);
	sample_at(1, 100, samples);
	request_trail_sort(&trail);
	request_bill_add(&b, &trail, &work, &(struct channel_request_done){.start_ns = 100 * MS, .end_ns = 200 * MS, .number = 7});
	request_bill_finish(&b, work.period_ns);
	uint64_t sum = 0;
	for (size_t i = 0; i < DOING_COUNT; i++)
		sum += b.doing_ns[i];
	cr_expect_eq(sum, b.thread_ns);
	request_trail_fini(&trail);
	request_work_fini(&work);
	return b;
}

/* Samples err; the scheduler does not. */
Test(request_rest, a_stay_of_whole_intervals)
{
	static const struct rest_reading list[] = {READING(100, 5, 10), READING(150, 15, 40), READING(200, 25, 80)};
	for (unsigned samples = 0; samples <= 10; samples += 5) {
		read_times(list, 3);
		struct request_bill b = bill_by_readings(samples);
		cr_expect_eq(b.doing_ns[DOING_CODE], 20 * MS, "%u samples", samples);
		cr_expect_eq(b.doing_ns[DOING_NO_CPU], 70 * MS);
		cr_expect_eq(b.doing_ns[DOING_UNTOLD], 10 * MS);
	}
}

/* Of an interval that is only partly of the request's stay: what the rest of the interval cannot hold. */
Test(request_rest, a_stay_of_parts_of_intervals)
{
	static const struct rest_reading list[] = {READING(80, 0, 0), READING(120, 0, 30), READING(180, 0, 80), READING(400, 0, 180)};
	read_times(list, 4);
	struct request_bill b = bill_by_readings(1);
	cr_expect_eq(b.doing_ns[DOING_NO_CPU], (10 + 50 + 0) * MS);
	cr_expect(b.doing_ns[DOING_CODE] == 0 && b.untold_samples == 1, "it did not run, whatever the sample says");
	cr_expect_eq(b.doing_ns[DOING_UNTOLD], 40 * MS);
}

/* A thread that waits as it is read has its wait in the next figures. */
Test(request_rest, a_wait_over_a_reading)
{
	static const struct rest_reading list[] = {READING(100, 0, 0), READING(190, 10, 0), READING(200, 10, 90)};
	read_times(list, 3);
	struct request_bill b = bill_by_readings(1);
	cr_expect(b.doing_ns[DOING_NO_CPU] == 90 * MS && b.doing_ns[DOING_CODE] == 10 * MS && b.doing_ns[DOING_UNTOLD] == 0);
}

/* What is recorded does not count again; and what a thread waited for after it was woken there may be in its figures. */
Test(request_rest, a_part_is_recorded)
{
	static const struct rest_reading list[] = {READING(100, 0, 0), READING(200, 30, 60)};
	record_switches(100, 150);
	add_wait(1, 110, 130, DOING_NO_CPU, WORK_NO_PLACE);
	add_wait(1, 130, 135, DOING_LOCK, 1);
	read_times(list, 2);
	struct request_bill b = bill_by_readings(0);
	cr_expect_eq(b.doing_ns[DOING_LOCK], 5 * MS);
	cr_expect_eq(b.doing_ns[DOING_CODE], (25 + 5) * MS);
	cr_expect_eq(b.doing_ns[DOING_NO_CPU], (20 + 35) * MS);
	cr_expect_eq(b.doing_ns[DOING_UNTOLD], 10 * MS);
}

/* Another thread works for the request at the same time: its time is not that of the one whose figures are known. */
Test(request_rest, two_threads)
{
	static const struct rest_reading list[] = {READING(100, 0, 0), READING(200, 0, 100)};
	record_switches(0, 1000);
	add_wait(2, 160, 170, DOING_LOCK, 1);
	add_switch(2, 150, 7);
	add_switch(2, 200, 0);
	read_times(list, 2);
	struct request_bill b = bill_by_readings(0);
	cr_expect(b.doing_ns[DOING_CODE] == 40 * MS && b.doing_ns[DOING_LOCK] == 10 * MS);
	cr_expect_eq(b.doing_ns[DOING_NO_CPU], 50 * MS);
}

/* Whatever is read, and in whatever order threads' numbers are used again. */
Test(request_rest, parts_add_up_for_anything)
{
	uint32_t dice = 1;
	for (unsigned round = 0; round < 300; round++) {
		struct rest_reading list[40];
		for (unsigned i = 0; i < 40; i++) {
			dice = dice * 1664525u + 1013904223u;
			list[i] = (struct rest_reading){(int64_t)((100 + 3 * i) * MS), (dice >> 8 & 63) * MS + 2 * i * MS, (dice >> 16) * i, i < 20};
		}
		record_switches(120 + (dice & 31), 170);
		add_wait(1, 130 + (dice & 15), 150, DOING_IO, 1);
		read_times(list, 40);
		bill_by_readings(dice >> 28);
	}
}
