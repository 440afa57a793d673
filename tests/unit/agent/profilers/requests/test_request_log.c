#include "agent/profilers/requests/request_analysis.h"
#include "agent/profilers/requests/request_live.h"
#include "agent/profilers/requests/request_numbers.h"

#include <criterion/criterion.h>
#include <string.h>

#define MS 1000000u

static void add_shape(struct request_log *l, uint32_t number, const char *text)
{
	request_log_shape(l, &(struct channel_request_shape){number, {text, strlen(text)}});
}

static void add_done(struct request_log *l, uint32_t shape, uint64_t end_ms, uint64_t length_ms, uint16_t status, uint16_t stream)
{
	request_log_done(l, &(struct channel_request_done){.start_ns = (end_ms - length_ms) * MS, .end_ns = end_ms * MS, .number = 1, .shape = shape,
							   .status = status, .stream = stream});
}

static struct request_capture capture;
static struct request_analysis analysis;

static void begin(void)
{
	capture = (struct request_capture){.log = request_log_new(), .started_ns = 0, .ended_ns = 10000ll * MS, .process_cpu_ns = -1};
}

static void end(void)
{
	request_analysis_fini(&analysis);
	request_capture_fini(&capture);
}

Test(latency_histogram, quantiles_are_right_to_three_percent)
{
	struct latency_histogram h = {0};
	for (uint64_t us = 1; us <= 100000; us++)
		latency_histogram_add(&h, us * 1000);
	cr_expect_float_eq((double)latency_histogram_quantile(&h, 0.5), 50e6, 1.6e6);
	cr_expect_float_eq((double)latency_histogram_quantile(&h, 0.99), 99e6, 3.1e6);
	cr_expect_eq(latency_histogram_quantile(&h, 1), 100000000);
	cr_expect_eq(h.longest_ns, 100000000);
	latency_histogram_add(&h, UINT64_MAX / 2);
	cr_expect_eq(latency_histogram_quantile(&(struct latency_histogram){0}, 0.5), 0);
	for (size_t i = 1; i < LATENCY_BUCKETS; i++)
		cr_assert_gt(latency_histogram_start(i), latency_histogram_start(i - 1));
}

Test(request_analysis, endpoints_by_the_time_that_users_waited)
{
	begin();
	add_shape(capture.log, 1, "GET /fast");
	add_shape(capture.log, 2, "GET /slow/{id}");
	for (unsigned i = 1; i <= 100; i++)
		add_done(capture.log, 1, 100 * i, 1, 200, 0);
	for (unsigned i = 1; i <= 10; i++)
		add_done(capture.log, 2, 1000 * i, 500, i <= 2 ? 500 : 200, 0);
	request_log_look(capture.log, 9000ull * MS);
	request_log_open(capture.log, &(struct channel_request_open){.shape = 1, .count = 2, .start_ns = 8000ull * MS});
	request_log_look(capture.log, 10000ull * MS);
	request_log_open(capture.log, &(struct channel_request_open){.shape = 2, .count = 1, .start_ns = 9000ull * MS});
	request_analysis_run(&capture, &analysis);
	cr_assert_eq(analysis.endpoint_count, 2);
	const struct endpoint_figures *f = &analysis.endpoints[0];
	cr_expect_str_eq(f->name, "GET /slow/{id}");
	cr_expect(f->requests == 10 && f->open == 1 && f->oldest_ns == 1000ull * MS && f->slowest.count == 10);
	cr_expect_float_eq(f->waited_ns, 6000e6, 1);
	cr_expect_float_eq(f->error_percent, 20, 1e-9);
	cr_expect_float_eq((double)f->p95_ns, 500e6, 16e6);
	cr_expect(analysis.endpoints[1].open == 0, "the look before counts no more");
	cr_expect(analysis.requests == 110 && analysis.open == 1 && analysis.errors == 2);
	end();
}

Test(request_analysis, words_that_turned_out_to_be_values_are_folded)
{
	begin();
	add_shape(capture.log, 1, "GET /users/alice/cart");
	add_shape(capture.log, 2, "GET /users/{name}/cart");
	add_shape(capture.log, 3, "GET /users/{name}");
	add_shape(capture.log, 4, "GET /users/bob");
	add_shape(capture.log, 5, "GET /other/bob");
	for (uint32_t i = 1; i <= 5; i++)
		add_done(capture.log, i, 100 * i, 1, 200, 0);
	request_analysis_run(&capture, &analysis);
	cr_expect_eq(analysis.endpoint_count, 3);
	for (size_t i = 0; i < analysis.endpoint_count; i++)
		cr_expect(!strstr(analysis.endpoints[i].name, "alice") && strcmp(analysis.endpoints[i].name, "GET /users/bob") != 0);
	end();
}

Test(request_analysis, streams_are_not_slow)
{
	begin();
	add_shape(capture.log, 1, "GET /events");
	add_shape(capture.log, 2, "GET /fast");
	add_done(capture.log, 1, 9000, 8000, 200, STREAM_EVENTS);
	add_done(capture.log, 2, 9000, 2, 200, 0);
	request_log_look(capture.log, 10000ull * MS);
	request_log_open(capture.log, &(struct channel_request_open){.shape = 1, .count = 5, .start_ns = 1000ull * MS});
	request_analysis_run(&capture, &analysis);
	cr_expect_str_eq(analysis.endpoints[0].name, "GET /fast");
	cr_expect(analysis.endpoints[1].is_stream && analysis.longest_ns < 3 * MS);
	struct request_numbers n;
	request_numbers_of(&analysis, &n);
	cr_expect_eq(n.open_oldest_s, 0);
	end();
}

static const struct finding *judged(const struct request_numbers *n, struct findings *f, const char *id)
{
	rules_run(request_rules, request_rule_count, &request_numbers_fields, n, f);
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->list[i].id, id) == 0)
			return &f->list[i];
	return NULL;
}

Test(request_rules, what_does_not_end_is_found_where_others_of_it_did)
{
	static const struct {
		double oldest_s, p99_s, done;
		enum finding_state state;
	} rows[] = {
		{30, 0.2, 100, FINDING_FOUND}, {30, NAN, 0, FINDING_POSSIBLE}, {30, 0.2, 5, FINDING_POSSIBLE}, {30, 10, 100, FINDING_EXCLUDED},
		{2, 0.01, 100, FINDING_EXCLUDED},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct request_numbers n;
		struct findings f;
		rules_clear(&request_numbers_fields, &n);
		n.seconds = 30;
		n.requests = 1000;
		n.lost_percent = n.error_percent = n.error_endpoint_percent = n.error_count = 0;
		n.status_percent = 100;
		n.in_flight = n.open_count = 3;
		n.open_oldest_s = rows[i].oldest_s;
		n.open_p99_s = rows[i].p99_s;
		n.open_done = rows[i].done;
		rules_set_text(&n.open_endpoint, "GET /hang");
		cr_expect_eq(judged(&n, &f, "RequestsNeverEnd")->state, rows[i].state, "row %zu", i);
		findings_fini(&f);
	}
}

Test(request_live, tells_of_the_endpoint_that_users_wait_for_most)
{
	begin();
	AUTO_BUF struct buf text;
	buf_init(&text, 1000);
	request_live_text(capture.log, 1000ull * MS, &text);
	cr_expect_str_eq(buf_str(&text), "0 requests, 0.0/s, 0 in flight");
	add_shape(capture.log, 1, "GET /fast");
	add_shape(capture.log, 2, "GET /slow/{id}");
	add_shape(capture.log, 3, "GET /events");
	for (unsigned i = 1; i <= 1200; i++)
		add_done(capture.log, 1, 10 * i, 1, 200, 0);
	add_done(capture.log, 3, 9000, 8000, 200, STREAM_EVENTS);
	request_log_look(capture.log, 11000ull * MS);
	request_log_open(capture.log, &(struct channel_request_open){.shape = 2, .count = 2, .start_ns = 6000ull * MS});
	buf_reset(&text);
	request_live_text(capture.log, 1000ull * MS, &text);
	cr_expect_str_eq(buf_str(&text), "1,200 requests, 120.0/s, 2 in flight; most waiting: GET /slow/{id}, oldest in flight 5.0 s");
	end();
}

static void add_round(uint64_t rest_ms, uint64_t rest_cpu_ms, uint64_t start_ms, uint64_t end_ms, uint64_t own_cpu_ms, uint64_t rest_requests)
{
	const struct channel_request_round r = {rest_ms * MS, rest_cpu_ms * MS, start_ms * MS, end_ms * MS, own_cpu_ms * MS, rest_requests};
	request_log_round(capture.log, &r);
}

/* Rounds of a second with rests of three seconds, which take three times the CPU time of a round. */
Test(request_log, rounds_stand_for_the_time_that_was_not_followed)
{
	begin();
	add_shape(capture.log, 1, "GET /fast");
	add_shape(capture.log, 2, "GET /slow");
	for (unsigned i = 1; i <= 1000; i++)
		add_done(capture.log, 1, 10 + i % 900, 1, i % 10 ? 200 : 500, 0);
	add_round(0, 0, 0, 1000, 100, CHANNEL_REQUESTS_NOT_COUNTED);
	for (unsigned i = 1; i <= 100; i++)
		add_done(capture.log, 1, 4500, 1, 200, 0);
	add_round(3000, 60, 4000, 5000, 20, CHANNEL_REQUESTS_NOT_COUNTED);
	for (unsigned i = 1; i <= 500; i++)
		add_done(capture.log, 2, 8500 + i % 500, 500, 0, 0);
	add_round(3000, 40, 8000, 9000, 20, CHANNEL_REQUESTS_NOT_COUNTED);
	add_round(1000, 10, 10000, 10000, 0, CHANNEL_REQUESTS_NOT_COUNTED);
	request_analysis_run(&capture, &analysis);
	cr_expect_float_eq(analysis.followed_percent, 30, 1e-9);
	const struct endpoint_figures *slow = &analysis.endpoints[0], *fast = &analysis.endpoints[1];
	cr_expect_str_eq(fast->name, "GET /fast");
	cr_expect_eq(fast->requests, 1000 + 500 + 100 + 50 + 100, "both rounds beside a rest tell of it: %lu", (unsigned long)fast->requests);
	cr_expect_eq(fast->status[5], 150);
	cr_expect_float_eq(fast->error_percent, 100 * 150 / 1750.0, 1e-9);
	cr_expect_float_eq(fast->waited_ns, 1750e6, 60e6);
	cr_expect_float_eq((double)slow->requests, 1000 + 1000 + 500, 90, "half of them had begun before it: %lu", (unsigned long)slow->requests);
	cr_expect_eq(slow->slowest.count, REQUEST_SLOWEST);
	cr_expect_float_eq((double)slow->p50_ns, 500e6, 16e6);
	end();
}

/* In the round before the first rest the application and what tells of it are compiled. */
Test(request_log, the_first_rest_is_told_by_the_round_after_it)
{
	for (unsigned idle = 0; idle < 2; idle++) {
		begin();
		add_shape(capture.log, 1, "GET /fast");
		for (unsigned i = 1; i <= 100; i++)
			add_done(capture.log, 1, i, 1, 200, 0);
		add_round(0, 0, 0, 1000, 1000, CHANNEL_REQUESTS_NOT_COUNTED);
		for (unsigned i = 1; i <= 1000; i++)
			add_done(capture.log, 1, 4000 + i % 1000, 1, 200, 0);
		add_round(3000, 1000, 4000, 5000, (idle ? 100 : 500), CHANNEL_REQUESTS_NOT_COUNTED);
		request_analysis_run(&capture, &analysis);
		cr_expect_float_eq((double)analysis.endpoints[0].requests, idle ? 2100 : 3100, 10);
		end();
	}
}

/* Where they were counted, CPU time says nothing: of which endpoints they were the rounds beside the rest tell. */
Test(request_log, rests_that_were_counted_are_exact)
{
	begin();
	add_shape(capture.log, 1, "GET /fast");
	add_shape(capture.log, 2, "GET /other");
	for (unsigned i = 1; i <= 100; i++)
		add_done(capture.log, 1, i, 1, 200, 0);
	add_round(0, 0, 0, 1000, 1000, CHANNEL_REQUESTS_NOT_COUNTED);
	for (unsigned i = 1; i <= 300; i++)
		add_done(capture.log, 2, 4000 + i, 1, 200, 0);
	add_round(3000, 7, 4000, 5000, 500, 40000);
	add_round(5000, 7, 10000, 10000, 0, 0);
	request_analysis_run(&capture, &analysis);
	cr_expect_float_eq(analysis.followed_percent, 20, 1e-9);
	cr_expect_float_eq(analysis.counted_percent, 100, 1e-9);
	cr_expect_float_eq((double)analysis.requests, 100 + 300 + 40000, 3);
	cr_expect_float_eq((double)analysis.endpoints[0].requests, 300 + 30000, 40, "%lu", (unsigned long)analysis.endpoints[0].requests);
	end();
	begin();
	add_round(1000, 1, 1000, 2000, 1, 50);
	request_analysis_run(&capture, &analysis);
	cr_expect_eq(analysis.requests, 0, "of nobody knows which endpoint");
	end();
}

Test(request_analysis, endpoints_have_the_names_of_their_routes)
{
	begin();
	add_shape(capture.log, 1, "GET /delay/{id}");
	add_shape(capture.log, 2, "GET /users/alice");
	add_shape(capture.log, 3, "GET /delay/{ms}");
	add_shape(capture.log, 4, "GET /users/{name}");
	add_shape(capture.log, 5, "GET /users/bob");
	add_shape(capture.log, 6, "GET /items/{id}");
	for (uint32_t shape = 1; shape <= 6; shape++)
		add_done(capture.log, shape, 1000 * shape, 10 * shape, 200, 0);
	static const struct channel_request_template rows[] = {{1, 3}, {2, 4}, {5, 4}, {6, 3}, {6, 0}, {3999, 3998}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		request_log_template(capture.log, &rows[i]);
	request_analysis_run(&capture, &analysis);
	cr_assert_eq(analysis.endpoint_count, 3);
	cr_expect_str_eq(analysis.endpoints[0].name, "GET /users/{name}");
	cr_expect_eq(analysis.endpoints[0].requests, 3);
	cr_expect_str_eq(analysis.endpoints[1].name, "GET /items/{id}");
	cr_expect_str_eq(analysis.endpoints[2].name, "GET /delay/{ms}");
	cr_expect_eq(analysis.endpoints[2].requests, 2);
	end();
}

/* A thousand requests of 10 ms and more; of a part of them it was told which threads worked for them. */
Test(request_analysis, the_bill_is_of_slow_requests_that_are_told)
{
	for (unsigned as_slow = 0; as_slow < 2; as_slow++) {
		begin();
		add_shape(capture.log, 1, "GET /orders");
		for (unsigned i = 1; i <= 1000; i++)
			request_log_done(capture.log, &(struct channel_request_done){.start_ns = i * MS, .end_ns = (i + 10 + (as_slow ? i % 40 : i / 10)) * MS,
										     .number = i, .shape = 1, .told = i < 200});
		request_analysis_run(&capture, &analysis);
		const struct endpoint_figures *p = &analysis.endpoints[0];
		cr_expect_eq(p->bill_of_told, as_slow);
		cr_expect_eq(p->bill.requests, 32);
		cr_expect_eq(p->bill.total_ns >= 32ull * 46 * MS, true, "they are slow: %llu", (unsigned long long)p->bill.total_ns);
		end();
	}
}

Test(request_log, knows_until_when_all_has_come)
{
	begin();
	cr_expect_eq(capture.log->told_to_ns, 0);
	request_log_look(capture.log, 3000ull * MS);
	cr_expect_eq(capture.log->told_to_ns, 3000ull * MS);
	add_round(0, 0, 1000, 2000, 0, CHANNEL_REQUESTS_NOT_COUNTED);
	cr_expect_eq(capture.log->told_to_ns, 3000ull * MS);
	add_round(4000, 0, 7000, 7000, 0, CHANNEL_REQUESTS_NOT_COUNTED);
	cr_expect_eq(capture.log->told_to_ns, 7000ull * MS);
	end();
}

size_t __sanitizer_get_current_allocated_bytes(void); /* a part of the sanitizers' interface for which GCC has no header */

/* As `count` requests with a call each leave it, 50,000 a second. */
static void add_many(uint32_t first, uint32_t count)
{
	struct request_trail *t = &capture.log->trail;
	for (uint32_t i = first; i < first + count; i++) {
		uint64_t at_ns = i * 20000ull + 1000 * MS;
		struct channel_request_done d = {.start_ns = at_ns - i % 977 * 1000, .end_ns = at_ns, .number = 4 * i, .shape = 1 + i % 100, .status = 200};
		request_trail_switch(t, &(struct channel_request_switch){d.start_ns, 7, d.number});
		request_trail_switch(t, &(struct channel_request_switch){d.end_ns, 7, 0});
		request_trail_call(t, &(struct channel_request_call){.start_ns = d.start_ns, .end_ns = d.end_ns, .number = d.number, .shape = 1});
		request_trail_window(t, &(struct channel_request_window){d.start_ns, d.end_ns});
		request_log_done(capture.log, &d);
	}
}

Test(request_log, memory_does_not_grow_with_requests)
{
	begin();
	add_many(1, 1100000);
	size_t bytes = __sanitizer_get_current_allocated_bytes();
	add_many(1100001, 1000000);
	cr_expect_eq(__sanitizer_get_current_allocated_bytes(), bytes);
	cr_expect_lt(bytes, 80u << 20);
	cr_expect_gt(capture.log->trail.left_out, 1000000u);
	end();
}

/* What is known to be a stream while it is in flight is no request that hangs. */
Test(request_analysis, streams_in_flight)
{
	begin();
	add_shape(capture.log, 1, "POST /shop.Prices/Watch");
	add_shape(capture.log, 2, "GET /chat");
	add_shape(capture.log, 3, "POST /shop.Prices/Get");
	add_done(capture.log, 3, 9000, 60, 200, STREAM_GRPC);
	add_done(capture.log, 2, 9000, 8000, 200, 0);
	request_log_look(capture.log, 9000ull * MS);
	request_log_open(capture.log, &(struct channel_request_open){.shape = 1, .streams = 2, .stream = STREAM_GRPC_SERVER});
	request_log_open(capture.log, &(struct channel_request_open){.shape = 2, .count = 1, .start_ns = 8000ull * MS,
								     .streams = 1, .stream = STREAM_WEB_SOCKET});
	request_analysis_run(&capture, &analysis);
	struct request_numbers n;
	request_numbers_of(&analysis, &n);
	cr_assert_eq(analysis.endpoint_count, 3);
	const struct endpoint_figures *chat = &analysis.endpoints[0], *get = &analysis.endpoints[1], *watch = &analysis.endpoints[2];
	cr_expect(watch->is_stream && watch->open_streams == 2 && watch->open == 0 && watch->oldest_ns == 0);
	cr_expect_str_eq(request_stream_key(request_analysis_kind(watch)), "grpcServerStreaming");
	cr_expect(!chat->is_stream && chat->open_streams == 1 && chat->open == 1);
	cr_expect(!get->is_stream && get->grpc == 1 && request_analysis_kind(get) == STREAM_NONE);
	cr_expect_null(request_stream_key(STREAM_NONE));
	cr_expect_eq(n.open_count, 1);
	cr_expect_str_eq(n.open_endpoint.text, "GET /chat");
	cr_expect_eq(analysis.open, 1);
	end();
}
