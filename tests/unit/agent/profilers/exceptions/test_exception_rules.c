#include "agent/profilers/exceptions/exception_numbers.h"
#include "agent/report/phrase.h"
#include "agent/report/report.h"

#include "tests/unit/catalogue_capture.h"

/* 10,000 a second on two of eight CPUs, from many places, that cost a tenth of the work. */
static struct exception_numbers storm(void)
{
	struct exception_numbers n;
	rules_clear(&exception_numbers_fields, &n);
	n.seconds = 30;
	n.counted = 300000;
	n.dropped_percent = 0;
	n.sampled_percent = 100;
	n.thrown_per_second = 10000;
	n.cpus = 2;
	n.thrown_per_cpu_second = 5000;
	n.cost_us = 20;
	n.cost_percent = 10;
	n.site_percent = n.near_percent = 10;
	n.retry_per_second = n.retry_count = n.retry_span_percent = 0;
	rules_set_text(&n.site_type, "Shop.OrderException");
	rules_set_text(&n.site_method, "Shop.Cart.Check");
	rules_set_text(&n.near_type, "System.FormatException");
	rules_set_text(&n.near_method, "Shop.Cart.Parse");
	rules_set_text(&n.near_catcher, "Shop.Cart.Parse");
	return n;
}

static enum finding_state judged_throws(const struct exception_numbers *n, const char *id, struct finding *out)
{
	return judged_in_catalogue("Exceptions", &exception_numbers_fields, n, id, out);
}

static const struct {
	const char *id;
	size_t member;
	double below, at;
	int score;
	const char *message;
} rows[] = {
	{"ExceptionsAsControlFlow", offsetof(struct exception_numbers, near_percent), 49.9, 50, 50, "10,000 exceptions/s, thrown and caught in Shop.Cart.Parse"},
	{"OneExceptionDominates", offsetof(struct exception_numbers, site_percent), 59.9, 60, 60, "10,000 exceptions/s, most in Shop.Cart.Check"},
	{"ExceptionStorm", offsetof(struct exception_numbers, cost_percent), 4.9, 5, 5, "Throwing takes 5% of CPU time: 10,000 exceptions/s"},
};

Test(exception_rules, each_at_both_sides_of_its_threshold)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct exception_numbers n = storm();
		struct finding f;
		*(double *)((char *)&n + rows[i].member) = rows[i].below;
		cr_expect_eq(judged_throws(&n, rows[i].id, &f), FINDING_EXCLUDED, "%s", rows[i].id);
		*(double *)((char *)&n + rows[i].member) = rows[i].at;
		cr_expect_eq(judged_throws(&n, rows[i].id, &f), FINDING_FOUND, "%s", rows[i].id);
		cr_expect_eq(f.score, rows[i].score);
		cr_expect_str_eq(f.message, rows[i].message);
	}
}

/* All at one place that catches them itself: bad only where it costs something. */
Test(exception_rules, what_costs_nothing_is_no_finding)
{
	struct exception_numbers n = storm();
	struct finding f;
	n.near_percent = n.site_percent = 100;
	n.cost_percent = 1.9;
	for (size_t i = 0; i < 3; i++)
		cr_expect_eq(judged_throws(&n, rows[i].id, &f), FINDING_EXCLUDED, "%s", rows[i].id);
	n.cost_percent = 40; /* of a process that does next to nothing */
	n.cpus = 0.02;
	for (size_t i = 0; i < 3; i++)
		cr_expect_eq(judged_throws(&n, rows[i].id, &f), FINDING_EXCLUDED, "%s", rows[i].id);
	n.cpus = 0.03;
	cr_expect_eq(judged_throws(&n, "ExceptionsAsControlFlow", &f), FINDING_FOUND);
	n.counted = 19;
	cr_expect_eq(judged_throws(&n, "ExceptionsAsControlFlow", &f), FINDING_EXCLUDED, "a few are no rate");
}

Test(exception_rules, without_a_measured_cost_there_is_one_witness)
{
	struct exception_numbers n = storm();
	struct finding f;
	n.cost_us = n.cost_percent = NAN;
	n.near_percent = n.site_percent = 100;
	n.thrown_per_cpu_second = 2000;
	for (size_t i = 0; i < 3; i++)
		cr_expect_eq(judged_throws(&n, rows[i].id, &f), FINDING_POSSIBLE, "%s", rows[i].id);
	n.thrown_per_cpu_second = 1999;
	for (size_t i = 0; i < 3; i++)
		cr_expect_eq(judged_throws(&n, rows[i].id, &f), FINDING_EXCLUDED, "%s", rows[i].id);
	n.near_percent = NAN;
	cr_expect_eq(judged_throws(&n, "ExceptionsAsControlFlow", &f), FINDING_EXCLUDED, "too few, wherever they are caught");
	n.thrown_per_cpu_second = 2000;
	cr_expect_eq(judged_throws(&n, "ExceptionsAsControlFlow", &f), FINDING_NOT_MEASURED);
	cr_expect_str_eq(f.message, "the runtime did not report who catches");
	n.dropped_percent = 21;
	cr_expect_eq(judged_throws(&n, "ExceptionStorm", &f), FINDING_NOT_MEASURED);
}

Test(exception_rules, a_dependency_that_fails_all_the_time_is_only_possible)
{
	struct exception_numbers n = storm();
	struct finding f;
	n.retry_per_second = 2;
	n.retry_count = 60;
	n.retry_span_percent = 97;
	rules_set_text(&n.retry_type, "System.Net.Sockets.SocketException");
	rules_set_text(&n.retry_method, "Shop.Stock.Ask");
	cr_expect_eq(judged_throws(&n, "RetryStorm", &f), FINDING_POSSIBLE);
	cr_expect_str_eq(f.message, "A dependency fails and is retried every 500 ms: Shop.Stock.Ask");
	cr_expect_str_eq(f.place, "Shop.Stock.Ask");
	n.retry_per_second = 4158;
	rules_set_text(&n.retry_method, "Shop.Delivery.Carriers.CarrierClient.ConnectOrThrow");
	cr_expect_eq(judged_throws(&n, "RetryStorm", &f), FINDING_POSSIBLE);
	cr_expect(strncmp(f.message, "A dependency fails and is retried 4,158 times a second", 54) == 0, "%s", f.message);
	cr_expect_leq(strlen(f.message), HEADLINE_MAX_CHARS - strlen("Possible: ") + 2, "%s", f.message); /* an ellipsis has three bytes */
	n.retry_per_second = 16;
	cr_expect_eq(judged_throws(&n, "RetryStorm", &f), FINDING_POSSIBLE);
	cr_expect_leq(strlen(f.message), HEADLINE_MAX_CHARS - strlen("Possible: ") + 2, "%s", f.message);
	n.retry_per_second = 2;
	n.retry_span_percent = 49;
	cr_expect_eq(judged_throws(&n, "RetryStorm", &f), FINDING_EXCLUDED, "a burst");
	n.retry_span_percent = 97;
	n.retry_per_second = 1.9;
	cr_expect_eq(judged_throws(&n, "RetryStorm", &f), FINDING_EXCLUDED);
	n.retry_per_second = 2;
	n.retry_count = 9;
	cr_expect_eq(judged_throws(&n, "RetryStorm", &f), FINDING_EXCLUDED);
}

/* Each figure misses a part of the cost: the larger one counts. */
Test(exception_rules, samples_of_the_unwinder_are_a_witness_of_the_cost)
{
	struct exception_numbers n = storm();
	struct finding f;
	n.unwinding_percent = 42;
	cr_expect_eq(judged_throws(&n, "ExceptionStorm", &f), FINDING_FOUND);
	cr_expect_str_eq(f.message, "Throwing takes 42% of CPU time: 10,000 exceptions/s");
	n.cost_us = n.cost_percent = NAN;
	cr_expect_eq(judged_throws(&n, "ExceptionStorm", &f), FINDING_FOUND);
	n.unwinding_percent = 4.9;
	cr_expect_eq(judged_throws(&n, "ExceptionStorm", &f), FINDING_EXCLUDED);
}

Test(exception_rules, a_storm_of_several_types_names_the_method_of_most)
{
	struct exception_numbers n = storm();
	struct finding f;
	n.method_percent = 50;
	rules_set_text(&n.method, "Shop.Cart.Check");
	cr_expect_eq(judged_throws(&n, "ExceptionStorm", &f), FINDING_FOUND);
	cr_expect_str_eq(f.message, "Throwing takes 10% of CPU time: 10,000 exceptions/s, 50% in Shop.Cart.Check");
	cr_expect_str_eq(f.place, "Shop.Cart.Check");
	n.method_percent = 19;
	judged_throws(&n, "ExceptionStorm", &f);
	cr_expect_str_eq(f.message, "Throwing takes 10% of CPU time: 10,000 exceptions/s");
	n.method_percent = 100;
	n.sampled_percent = 30;
	judged_throws(&n, "ExceptionStorm", &f);
	cr_expect_str_eq(f.message, "Throwing takes 10% of CPU time, most in Shop.Cart.Check", "there is no room for both");
}

/* What a task keeps, and each await throws: new ones are none. */
Test(exception_rules, what_awaits_throw_counts_where_hardly_any_is_new)
{
	struct exception_numbers n = storm();
	struct finding f;
	n.thrown_per_second = 0.1;
	n.again_per_second = 2000;
	n.near_percent = n.site_percent = 100; /* of the one that is new */
	rules_set_text(&n.again_method, "Shop.Cart.Check");
	cr_expect_eq(judged_throws(&n, "ExceptionStorm", &f), FINDING_FOUND);
	cr_expect_str_eq(f.message, "Throwing takes 10% of CPU time, by awaits in Shop.Cart.Check");
	cr_expect_eq(judged_throws(&n, "ExceptionsAsControlFlow", &f), FINDING_EXCLUDED);
	cr_expect_eq(judged_throws(&n, "OneExceptionDominates", &f), FINDING_EXCLUDED);
	n.thrown_per_second = 400; /* each through five awaits */
	cr_expect_eq(judged_throws(&n, "ExceptionsAsControlFlow", &f), FINDING_FOUND);
}

Test(exception_rules, rates_are_written_as_people_write_them)
{
	static const struct {
		double rate;
		const char *text;
	} written[] = {{0.05, "0.05"}, {3.33, "3.3"}, {20, "20"}, {999.4, "999"}, {1000, "1,000"}, {12345.6, "12,346"}, {1234567, "1,234,567"}};
	for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
		AUTO_BUF struct buf out;
		buf_init(&out, 100);
		phrase_rate(&out, written[i].rate);
		cr_expect_str_eq(buf_str(&out), written[i].text);
	}
}

static void judge_throws(const struct rule_fields *fields, const void *numbers, struct findings *out)
{
	catalogue_judge("Exceptions", fields, numbers, out);
}

Test(exception_rules, recorded_captures)
{
	struct exception_numbers n;
	const struct capture_judge by = {.fields = &exception_numbers_fields, .judge = judge_throws};
	check_group("Exceptions", &exception_numbers_fields);
	check_captures_by("exceptions", &by, &n);
}
