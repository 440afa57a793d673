#include "agent/profilers/requests/request_pool_numbers.h"
#include "agent/waits/pool_watch.h"

#include <criterion/criterion.h>

#define MS 1000000u
#define SECOND (1000u * MS)

static void on_thread(struct request_log *l, uint32_t number, uint64_t from_ms, uint64_t to_ms)
{
	request_trail_switch(&l->trail, &(struct channel_request_switch){from_ms * MS, number, number});
	request_trail_switch(&l->trail, &(struct channel_request_switch){to_ms * MS, number, 0});
}

/* Four requests of 300 ms that are on a thread for 10 ms at either end. */
static void add_requests(struct request_log *l, struct request_slowest *out)
{
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t at = 1000 + i * 200;
		out->list[out->count++] = (struct channel_request_done){.start_ns = at * MS, .end_ns = (at + 300) * MS, .number = i + 1, .shape = 1};
		on_thread(l, i + 1, at, at + 10);
		on_thread(l, i + 1, at + 290, at + 300);
	}
	request_trail_window(&l->trail, &(struct channel_request_window){0, 10ull * SECOND});
	request_trail_sort(&l->trail);
}

/* What was in the queue while nobody of them waited does not count, and neither do workers that idle, or were not there yet. */
Test(request_pool_numbers, looks_at_which_requests_await)
{
	struct request_log *l = request_log_new();
	struct wait_capture waits = {0};
	struct wait list[] = {
		{.out_ns = 0, .in_ns = 5ll * SECOND}, {.out_ns = 900 * MS, .in_ns = 5ll * SECOND}, {.out_ns = 0, .in_ns = 500 * MS},
		{.out_ns = 2ll * SECOND, .in_ns = 5ll * SECOND}, {.out_ns = 0, .in_ns = 5ll * SECOND}};
	struct joined_wait joined[] = {
		{.wait = &list[0], .thread = 0, .meaning = {.idle = true}}, {.wait = &list[1], .thread = 1, .meaning = {.kind = WAIT_KIND_SLEEP}},
		{.wait = &list[2], .thread = 2, .meaning = {.kind = WAIT_KIND_LOCK}}, {.wait = &list[3], .thread = 3, .meaning = {.kind = WAIT_KIND_LOCK}},
		{.wait = &list[4], .thread = 4, .meaning = {.kind = WAIT_KIND_LOCK}}};
	bool is_worker[] = {true, true, true, true, false};
	struct request_capture c = {.log = l, .waits = &waits};
	struct request_analysis a = {.capture = &c, .has_waits = true, .waits = {.join = {.list = joined, .timed_count = 5}, .is_worker = is_worker}};
	struct endpoint_figures f = {0};
	struct queue_match m;
	add_requests(l, &f.billed);
	for (int64_t at_ms = 100; at_ms < 4000; at_ms += 100)
		pool_sights_add(&waits.queue, at_ms * MS, at_ms > 1000 && at_ms < 1900 ? 10 + at_ms / 100 % 2 : 0);
	cr_expect_eq(waits.queue.count, waits.queue.looks);
	request_queue_match(&a, &f, &m);
	cr_expect_eq(m.looks, 8, "1100 to 1800: %zu", m.looks);
	cr_expect(m.items == 84 && m.most == 11, "%f %d", m.items, (int)m.most);
	cr_expect(m.busy == 16 && m.blocked == 8, "one sleeps, one runs: %zu %zu", m.busy, m.blocked);
	pool_sights_fini(&waits.queue);
	request_log_free(l);
}
