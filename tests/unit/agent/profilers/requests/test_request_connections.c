#include "agent/profilers/requests/request_analysis.h"
#include "agent/profilers/requests/request_connections.h"
#include "agent/profilers/requests/request_numbers.h"

#include <criterion/criterion.h>
#include <string.h>

#define MS 1000000u

static void add_shape(struct request_log *l, uint32_t number, const char *text)
{
	request_log_shape(l, &(struct channel_request_shape){number, {text, strlen(text)}});
}

static void add_call(struct request_log *l, uint32_t number, uint32_t shape, uint64_t from_ms, uint64_t to_ms, uint16_t failed)
{
	request_trail_call(&l->trail, &(struct channel_request_call){from_ms * MS, to_ms * MS, number, shape, failed});
}

/* Twenty requests of 100 ms, which wait for 80 ms each for one of the two connections to that host. */
static struct request_log *pool_log(void)
{
	struct request_log *l = request_log_new();
	add_shape(l, 1, "GET /narrow");
	add_shape(l, 2, "http shop.local:80");
	add_shape(l, 3, "http connection shop.local:80");
	add_shape(l, 4, "opened shop.local:80");
	add_shape(l, 5, "opened shop.local:8080");
	for (uint32_t i = 1; i <= 20; i++) {
		request_log_done(l, &(struct channel_request_done){.start_ns = i * 10 * MS, .end_ns = (i * 10 + 100) * MS, .number = i, .shape = 1});
		add_call(l, i, 2, i * 10, i * 10 + 100, i == 20);
		add_call(l, i, 3, i * 10, i * 10 + 80, 0);
		if (i <= 2)
			add_call(l, 0, 4, i * 10, i * 10, 0);
		add_call(l, 0, 5, i * 10, i * 10, 0);
	}
	return l;
}

Test(request_connections, of_one_host)
{
	struct connection_counts n;
	struct request_log *l = pool_log();
	request_connections_count(l, "http connection shop.local:80", &n);
	cr_expect(n.waits == 20 && n.opened == 2 && n.calls == 20 && n.failed == 1, "%lu %lu %lu %lu", n.waits, n.opened, n.calls, n.failed);
	request_connections_count(l, "http shop.local:80", &n);
	cr_expect(!n.waits && !n.opened && !n.calls);
	request_connections_count(l, "http connection other.local:80", &n);
	cr_expect(!n.waits && !n.opened && !n.calls);
	request_log_free(l);
}

Test(request_connections, what_is_one)
{
	cr_expect(request_connections_is_wait("http connection a:1") && !request_connections_is_wait("http a:1") && !request_connections_is_wait("sql x"));
	cr_expect(request_connections_is_part("tls a") && request_connections_is_part("dns a") && request_connections_is_part("connect ") &&
		  request_connections_is_part("http connection a:1") && !request_connections_is_part("http a:1"));
}

/* The wait is a call of its own in the bill, no slow dependency, and judged as what it is. */
Test(request_connections, numbers)
{
	struct request_capture c = {.log = pool_log(), .ended_ns = 10000ll * MS, .process_cpu_ns = -1};
	struct request_analysis a;
	struct request_numbers n;
	request_trail_window(&c.log->trail, &(struct channel_request_window){0, 10000ull * MS});
	c.log->unanswered = (struct channel_requests_unanswered){7, 90ull * 1000 * MS};
	request_analysis_run(&c, &a);
	request_numbers_of(&a, &n);
	cr_expect_str_eq(n.pool_endpoint.text, "GET /narrow");
	cr_expect_str_eq(n.pool_what.text, "shop.local:80");
	cr_expect_float_eq(n.pool_percent, 80, 0.1, "%f", n.pool_percent);
	cr_expect_float_eq(n.call_percent, 20, 0.1, "%f", n.call_percent);
	cr_expect_float_eq(n.pool_opened_percent, 10, 0.1);
	cr_expect(n.pool_waits == 20 && n.anew_calls == 0 && n.anew_percent == 0);
	cr_expect(n.unanswered_count == 7 && n.unanswered_oldest_s == 90);
	request_analysis_fini(&a);
	request_capture_fini(&c);
}
