#include "agent/profilers/requests/request_text.h"

#include <criterion/criterion.h>
#include <string.h>

#define MS 1000000u

static void add_shape(struct request_log *l, uint32_t number, const char *text)
{
	request_log_shape(l, &(struct channel_request_shape){number, {text, strlen(text)}});
}

/* Thirty requests of 100 ms; `call_ms` of each are a call, nothing is known of the rest. */
static const char *text_of(uint64_t call_ms)
{
	static struct buf out;
	struct request_capture c = {.log = request_log_new(), .ended_ns = 10000ll * MS, .process_cpu_ns = -1};
	struct request_analysis a;
	struct request_numbers n;
	struct findings none;
	add_shape(c.log, 1, "GET /a-name/that-is-long/{id}/and-more/{id}");
	add_shape(c.log, 2, "sql SELECT name FROM a_table_with_a_long_name WHERE id = ?");
	request_trail_window(&c.log->trail, &(struct channel_request_window){0, 10000ull * MS});
	for (uint32_t i = 1; i <= 30; i++) {
		request_log_done(c.log, &(struct channel_request_done){.start_ns = i * 10 * MS, .end_ns = (i * 10 + 100) * MS, .number = i, .shape = 1});
		if (call_ms)
			request_trail_call(&c.log->trail, &(struct channel_request_call){i * 10 * MS, (i * 10 + call_ms) * MS, i, 2, 0});
	}
	request_analysis_run(&c, &a);
	request_numbers_of(&a, &n);
	rules_run(request_rules, 0, &request_numbers_fields, &n, &none);
	buf_fini(&out);
	buf_init(&out, 65536);
	request_text_put(&a, &n, &none, &out);
	findings_fini(&none);
	request_analysis_fini(&a);
	request_capture_fini(&c);
	return buf_str(&out);
}

static void expect_headline(const char *text, const char *due)
{
	cr_expect_eq(strncmp(text, due, strlen(due)), 0, "%s", text);
	cr_expect_eq(text[strlen(due)], '\n', "%s", text);
	cr_expect_leq(strlen(due), 80);
}

/* Where nothing is found, the first line says what the time is. */
Test(request_text, headline)
{
	const char *text = text_of(0);
	expect_headline(text, "GET /a-name/that-is-long/{i...: p95 100 ms, 100% awaiting something else");
	cr_expect(strstr(text, "StuckTasks names the awaits"));
	text = text_of(70);
	expect_headline(text, "GET /a-name/that-is-long/{i...: p95 100 ms, 70% awaiting sql SELECT name FROM...");
	cr_expect_null(strstr(text, "StuckTasks names the awaits"));
}
