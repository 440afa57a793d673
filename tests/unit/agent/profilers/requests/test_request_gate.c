#include "agent/profilers/requests/request_gate.h"
#include "agent/profilers/requests/request_numbers.h"

#include <criterion/criterion.h>
#include <string.h>

#define MS 1000000u

static void add_shape(struct request_log *l, uint32_t number, const char *text)
{
	request_log_shape(l, &(struct channel_request_shape){number, {text, strlen(text)}});
}

static void on_thread(struct request_log *l, uint32_t number, uint64_t from_ms, uint64_t to_ms)
{
	request_trail_switch(&l->trail, &(struct channel_request_switch){from_ms * MS, number, number});
	request_trail_switch(&l->trail, &(struct channel_request_switch){to_ms * MS, number, 0});
}

static void add_command(struct request_log *l, uint32_t number, uint32_t shape, uint64_t from_ms, uint64_t to_ms)
{
	request_trail_call(&l->trail, &(struct channel_request_call){from_ms * MS, to_ms * MS, number, shape, 0});
}

/* Twenty requests that begin 20 ms apart: each waits for `wait_ms`, then has a command of 40 ms. */
static void add_requests(struct request_log *l, uint32_t shape, uint64_t wait_ms)
{
	for (uint32_t i = 1; i <= 20; i++) {
		uint64_t at = 1000 + i * 20, command = at + 1 + wait_ms;
		request_log_done(l, &(struct channel_request_done){.start_ns = at * MS, .end_ns = (command + 41) * MS, .number = i, .shape = 1});
		on_thread(l, i, at, at + 1);
		on_thread(l, i, command - 1, command + 1);
		add_command(l, i, shape, command, command + 40);
	}
}

static struct request_numbers numbers_of(struct request_log *l)
{
	struct request_capture c = {.log = l, .ended_ns = 10000ll * MS, .process_cpu_ns = -1};
	struct request_analysis a;
	struct request_numbers n;
	add_shape(l, 1, "GET /report");
	add_shape(l, 2, "sql SELECT ?");
	add_shape(l, 3, "http shop.local:80");
	request_trail_window(&l->trail, &(struct channel_request_window){0, 10000ull * MS});
	request_analysis_run(&c, &a);
	request_numbers_of(&a, &n);
	request_analysis_fini(&a);
	request_capture_fini(&c);
	return n;
}

/* Two run all the time, those of requests that were there before as well. */
Test(request_gate, a_wait_while_as_many_run_as_ever_do)
{
	struct request_log *l = request_log_new();
	add_command(l, 100, 2, 900, 1101);
	add_command(l, 101, 2, 900, 1121);
	add_requests(l, 2, 80);
	struct request_numbers n = numbers_of(l);
	cr_expect_str_eq(n.gate_endpoint.text, "GET /report");
	cr_expect_str_eq(n.gate_what.text, "sql SELECT ?");
	cr_expect(n.gate_width == 2 && n.gate_waits == 20, "%f %f", n.gate_width, n.gate_waits);
	cr_expect_float_eq(n.gate_percent, 100 * 79.0 / 122, 1, "%f", n.gate_percent);
}

/* A timer before a command: once three run, two at once are no limit. */
Test(request_gate, a_wait_while_fewer_run)
{
	struct request_log *l = request_log_new();
	add_command(l, 100, 2, 900, 1101);
	add_command(l, 101, 2, 900, 1121);
	add_command(l, 102, 2, 950, 960);
	add_requests(l, 2, 80);
	struct request_numbers n = numbers_of(l);
	cr_expect(n.gate_width == 3 && n.gate_waits == 0 && n.gate_percent == 0, "%f %f %f", n.gate_width, n.gate_waits, n.gate_percent);
}

Test(request_gate, calls_that_are_no_commands)
{
	struct request_log *l = request_log_new();
	add_requests(l, 3, 80);
	struct request_numbers n = numbers_of(l);
	cr_expect(n.gate_waits == 0 && n.gate_percent == 0);
}

/* One request after the other: none runs while one waits. */
Test(request_gate, alone)
{
	struct request_log *l = request_log_new();
	for (uint32_t i = 1; i <= 20; i++) {
		uint64_t at = 1000 + i * 100;
		request_log_done(l, &(struct channel_request_done){.start_ns = at * MS, .end_ns = (at + 90) * MS, .number = i, .shape = 1});
		on_thread(l, i, at, at + 1);
		on_thread(l, i, at + 50, at + 52);
		add_command(l, i, 2, at + 51, at + 90);
	}
	struct request_numbers n = numbers_of(l);
	cr_expect(n.gate_width == 1 && n.gate_waits == 0);
}
