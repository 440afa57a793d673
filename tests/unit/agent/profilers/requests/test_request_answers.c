#include "agent/profilers/requests/request_answers.h"
#include "agent/profilers/requests/request_numbers.h"

#include <criterion/criterion.h>
#include <string.h>

#define MS 1000000u

static void answer(struct request_answers *x, uint32_t number, uint16_t port, uint32_t client, uint64_t from_ms, uint64_t to_ms)
{
	request_answers_add(x, &(struct channel_request_answer){from_ms * MS, to_ms * MS, number, client, port});
}

static void look(struct request_answers *x, uint64_t at_ms, uint16_t port, uint64_t acked, uint64_t window_ms)
{
	request_answers_look(x, at_ms * MS, &(struct channel_request_stall){port, acked, window_ms * 1000}, port ? 1 : 0);
}

/* From 100 to 160 ms, and from 200 to 220. */
static void stalls(struct request_answers *x)
{
	for (uint64_t i = 0; i <= 3; i++)
		look(x, 100 + 20 * i, 5000, 1000 * i, 10 * i);
	look(x, 180, 0, 0, 0);
	look(x, 200, 5000, 9000, 90);
	look(x, 220, 5000, 9500, 200);
}

Test(request_answers, looks_one_after_the_other_are_one_stall)
{
	struct request_answers x = {0};
	struct request_trail t = {0};
	stalls(&x);
	request_answers_sort(&x, &t);
	cr_assert_eq(x.stall_count, 2);
	cr_expect(x.stalls[0].from_ns == 100 * MS && x.stalls[0].to_ns == 160 * MS && x.stalls[0].acked_bytes == 3000 && x.stalls[0].window_ns == 30 * MS);
	cr_expect(x.stalls[1].from_ns == 200 * MS && x.stalls[1].to_ns == 220 * MS && x.stalls[1].window_ns == 20 * MS, "no more than all of it");
	request_answers_fini(&x);
}

Test(request_answers, another_connection_of_the_same_port_is_another)
{
	struct request_answers x = {0};
	look(&x, 100, 5000, 9000, 90);
	look(&x, 120, 5000, 10, 0);
	look(&x, 140, 5000, 20, 0);
	cr_assert_eq(x.stall_count, 1);
	cr_expect_eq(x.stalls[0].from_ns, 120 * MS);
	look(&x, 130, 5000, 30, 0); /* a clock that goes back */
	cr_expect_eq(x.stall_count, 1);
	request_answers_fini(&x);
}

/* A request gets what falls into its own time; those that share a connection get nothing. */
Test(request_answers, waits_are_of_the_request_that_has_the_connection)
{
	struct request_answers x = {0};
	struct request_trail t = {0};
	uint64_t bytes = 0, window_ns = 0;
	stalls(&x);
	answer(&x, 7, 5000, 1, 90, 140);
	answer(&x, 8, 5000, 1, 140, 210);
	answer(&x, 9, 5001, 1, 90, 140);
	answer(&x, 10, 0, 1, 90, 140);
	request_answers_sort(&x, &t);
	request_trail_sort(&t);
	cr_assert_eq(t.call_count, 3);
	cr_expect(t.calls[0].number == 7 && t.calls[0].start_ns == 100 * MS && t.calls[0].end_ns == 140 * MS && t.calls[0].shape == REQUEST_SHAPE_CLIENT);
	cr_expect(t.calls[1].number == 8 && t.calls[1].start_ns == 140 * MS && t.calls[1].end_ns == 160 * MS);
	cr_expect(t.calls[2].number == 8 && t.calls[2].start_ns == 200 * MS && t.calls[2].end_ns == 210 * MS);
	request_answers_sums(&x, 7, &bytes, &window_ns);
	cr_expect(bytes == 2000 && window_ns == 20 * MS, "%lu %lu", bytes, window_ns);
	request_answers_sums(&x, 11, &bytes, &window_ns);
	cr_expect(bytes == 2000 && window_ns == 20 * MS);
	request_trail_fini(&t);
	request_answers_fini(&x);
}

Test(request_answers, requests_at_once_on_one_connection_are_not_told_apart)
{
	struct request_answers x = {0};
	struct request_trail t = {0};
	stalls(&x);
	answer(&x, 7, 5000, 1, 90, 140);
	answer(&x, 8, 5000, 1, 100, 110);
	answer(&x, 9, 5000, 1, 130, 210);
	request_answers_sort(&x, &t);
	cr_expect_eq(t.call_count, 0);
	request_answers_fini(&x);
}

/* Twenty requests of 100 ms, of which 80 are of a client that reads slowly; three clients, of which one makes eighteen. */
Test(request_answers, numbers)
{
	static const char name[] = "GET /export";
	struct request_capture c = {.log = request_log_new(), .ended_ns = 10000ll * MS, .process_cpu_ns = -1};
	struct request_analysis a;
	struct request_numbers n;
	request_log_shape(c.log, &(struct channel_request_shape){1, {name, strlen(name)}});
	for (uint32_t i = 1; i <= 20; i++) {
		request_log_done(c.log, &(struct channel_request_done){.start_ns = i * 100 * MS, .end_ns = (i * 100 + 100) * MS, .number = i, .shape = 1});
		answer(&c.log->answers, i, 5000, i < 3 ? i : 3, i * 100, i * 100 + 100);
		look(&c.log->answers, i * 100 + 10, 5000, i * 1000, i * 60);
		look(&c.log->answers, i * 100 + 90, 5000, i * 1000 + 500, i * 60 + 60);
		look(&c.log->answers, i * 100 + 95, 0, 0, 0);
	}
	request_trail_window(&c.log->trail, &(struct channel_request_window){0, 10000ull * MS});
	request_analysis_run(&c, &a);
	request_numbers_of(&a, &n);
	cr_expect_str_eq(n.client_endpoint.text, name);
	cr_expect_float_eq(n.client_percent, 80, 0.1, "%f", n.client_percent);
	cr_expect_float_eq(n.client_window_percent, 75, 0.1, "%f", n.client_window_percent);
	cr_expect_float_eq(n.client_bytes, 500, 0.1, "%f", n.client_bytes);
	cr_expect_float_eq(n.call_percent, 0, 0.1, "it is no dependency: %f", n.call_percent);
	cr_expect_float_eq(n.one_percent, 90, 0.1, "%f", n.one_percent);
	cr_expect(n.one_others == 2 && n.one_told == 20 && n.one_requests == 18);
	request_analysis_fini(&a);
	request_capture_fini(&c);
}
