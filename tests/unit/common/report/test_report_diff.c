#include "common/base/mem.h"
#include "common/report/report_diff.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A report of one second: names with their samples, ended by NULL; "gc" and "kernel" are categories. */
struct part {
	const char *name;
	int samples;
};

#define PARTS 8

static json_t *report(int samples, double cpus, const struct part *parts)
{
	int gc = 0, kernel = 0;
	json_t *methods = json_array(), *timeline = json_array();
	for (size_t i = 0; i < PARTS && parts[i].name; i++) {
		if (strcmp(parts[i].name, "gc") == 0)
			gc = parts[i].samples;
		else if (strcmp(parts[i].name, "kernel") == 0)
			kernel = parts[i].samples;
		else
			json_array_append_new(methods, json_pack("{s:s, s:s, s:i, s:i}", "name", parts[i].name, "layer",
								 strncmp(parts[i].name, "System.", 7) ? "application" : "library", "self",
								 parts[i].samples, "caused", strncmp(parts[i].name, "System.", 7) ? parts[i].samples : 0));
	}
	for (int i = 0; i < 60; i++)
		json_array_append_new(timeline, json_integer(samples / 60 + (i < samples % 60)));
	return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s}, s:{s:s, s:f}, s:{s:i, s:s}, s:{s:f}, s:{s:o}, s:[{s:s, s:s, s:i}, "
			 "{s:s, s:s, s:i}], s:o}",
			 "schema", "drdotnet.dev/report/v1", "profiler", "CPUHotpaths", "session", "name", "s", "namespace", "shop", "target", "pod",
			 "checkout-1", "entrypoint", "Checkout", "runtimeVersion", "10.0.1", "time", "startedAt", "2026-01-01T00:00:00Z",
			 "durationSeconds", 1.0, "sampling", "samples", samples, "method", "perf-thread", "cpu", "usedNanoseconds", cpus * 1e9,
			 "timeline", "samples", timeline, "categories", "category", "gc", "title", "garbage collection", "samples", gc, "category",
			 "kernel", "title", "kernel", "samples", kernel, "methods", methods);
}

static json_t *compare(json_t *before, json_t *after)
{
	struct err e = ERR_INIT;
	json_t *diff = report_diff_make(before, after, &e);
	cr_assert_not_null(diff, "%s", e.message);
	json_decref(before);
	json_decref(after);
	return diff;
}

static size_t chars(const char *s)
{
	size_t n = 0;
	for (; *s; s++)
		n += ((unsigned char)*s & 0xC0) != 0x80;
	return n;
}

static const json_t *row_of(const json_t *diff, const char *name)
{
	size_t i;
	json_t *row;
	json_array_foreach(jsonx_at(diff, "rows"), i, row) {
		if (strcmp(jsonx_str_at(row, "name", ""), name) == 0)
			return row;
	}
	cr_expect(false, "no row named %s", name);
	return NULL;
}

Test(report_diff, says_what_changed)
{
	static const struct {
		int before_samples;
		double before_cpus;
		struct part before[PARTS];
		int after_samples;
		double after_cpus;
		struct part after[PARTS];
		const char *headline;
	} rows[] = {
		/* the hot spot moved */
		{1000, 1, {{"A.B", 800}, {"A.C", 200}}, 1000, 1, {{"D.E", 900}, {"A.C", 100}}, "CPU moved from A.B to D.E"},
		/* more work in one method: the others' shares fall, but they did not change */
		{500, 0.5, {{"A.B", 250}, {"A.C", 250}}, 1000, 1, {{"A.B", 750}, {"A.C", 250}}, "A.B grew: 50% to 75% of CPU"},
		{1000, 1, {{"A.B", 750}, {"A.C", 250}}, 500, 0.5, {{"A.B", 250}, {"A.C", 250}}, "A.B shrank: 75% to 50% of CPU"},
		{500, 0.5, {{"A.C", 500}}, 1000, 1, {{"A.N", 500}, {"A.C", 500}}, "A.N is new: 50% of CPU"},
		{1000, 1, {{"A.N", 500}, {"A.C", 500}}, 500, 0.5, {{"A.C", 500}}, "A.N vanished: was 50% of CPU"},
		/* twice the load */
		{1000, 0.5, {{"A.B", 800}, {"A.C", 200}}, 2000, 1, {{"A.B", 1600}, {"A.C", 400}},
		 "CPU use rose from 0.50 to 1.00 CPUs; its spread is the same"},
		/* the same again, and within the error of few samples */
		{1000, 1, {{"A.B", 800}, {"A.C", 200}}, 1000, 1, {{"A.B", 800}, {"A.C", 200}}, "No difference beyond noise"},
		{100, 1, {{"A.B", 50}, {"A.C", 50}}, 100, 1, {{"A.B", 65}, {"A.C", 35}}, "No difference beyond noise"},
		{10000, 1, {{"A.B", 5000}, {"A.C", 5000}}, 10000, 1, {{"A.B", 5090}, {"A.C", 4910}}, "No difference beyond noise"},
		{1, 0.001, {{"A.B", 1}}, 1, 0.001, {{"A.C", 1}}, "No difference beyond noise"},
		/* a category */
		{600, 0.6, {{"A.B", 580}, {"gc", 20}}, 1000, 1, {{"A.B", 600}, {"gc", 400}}, "Garbage collection grew: 3.3% to 40% of CPU"},
		/* the application's method rather than the library's that it calls */
		{500, 0.5, {{"A.B", 100}, {"System.S.Concat", 100}, {"A.C", 400}}, 1000, 1,
		 {{"A.B", 600}, {"System.S.Concat", 600}, {"A.C", 400}}, "A.B grew: 20% to 60% of CPU"},
		/* nothing to compare */
		{0, 0, {{NULL, 0}}, 0, 0, {{NULL, 0}}, "No difference in CPU use; no samples to compare"},
		{0, 0, {{NULL, 0}}, 1000, 1, {{"A.B", 1000}}, "CPU use rose from 0.00 to 1.00 CPUs; no samples to compare"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_JSON json_t *diff = compare(report(rows[i].before_samples, rows[i].before_cpus, rows[i].before),
						 report(rows[i].after_samples, rows[i].after_cpus, rows[i].after));
		const char *headline = jsonx_str_at(diff, "headline", ""), *text = jsonx_str_at(diff, "diagnosis", "");
		cr_expect_str_eq(headline, rows[i].headline, "row %zu: %s", i, text);
		cr_expect_eq(strncmp(text, headline, strlen(headline)), 0);
		bool none = strstr(headline, "No difference") != NULL;
		cr_expect_eq(json_is_true(json_object_get(diff, "changed")), !none, "row %zu", i);
	}
}

Test(report_diff, rows_have_shares_and_cpus)
{
	static const struct part before[PARTS] = {{"A.B", 250}, {"A.C", 250}}, after[PARTS] = {{"A.B", 750}, {"A.C", 250}};
	AUTO_JSON json_t *diff = compare(report(500, 0.5, before), report(1000, 1, after));
	static const struct {
		const char *name, *key;
		double value;
	} rows[] = {
		{"CPU use", "before", 0.5}, {"CPU use", "delta", 0.5}, {"A.B", "before", 50}, {"A.B", "after", 75}, {"A.B", "delta", 25},
		{"A.B", "beforeCPUs", 0.25}, {"A.B", "deltaCPUs", 0.5}, {"A.C", "delta", -25}, {"A.C", "deltaCPUs", 0},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		double value = json_number_value(json_object_get(row_of(diff, rows[i].name), rows[i].key));
		cr_expect(fabs(value - rows[i].value) < 0.001, "%s %s: %g", rows[i].name, rows[i].key, value);
	}
	cr_expect_str_eq(jsonx_str_at(row_of(diff, "A.B"), "change", ""), "grew");
	cr_expect_str_eq(jsonx_str_at(row_of(diff, "A.C"), "change", ""), "same", "its share fell only because the other grew");
	cr_expect_str_eq(jsonx_str_at(diff, "before.pod", ""), "checkout-1");
	cr_expect_eq(jsonx_int_at(diff, "after.samples", 0), 1000);
}

/* A process that was profiled twice is different from itself once in a thousand times at most, whatever the shares are. */
Test(report_diff, the_same_distribution_is_no_difference)
{
	static const double shares[] = {0.5, 0.2, 0.1, 0.1, 0.05, 0.05};
	static const char *const names[] = {"A.A", "A.B", "A.C", "A.D", "A.E", "A.F"};
	unsigned seed = 1, wrong = 0;
	for (int round = 0; round < 1000; round++) {
		json_t *both[2];
		for (int side = 0; side < 2; side++) {
			struct part parts[PARTS] = {{NULL, 0}};
			for (size_t i = 0; i < 6; i++)
				parts[i].name = names[i];
			for (int n = 0; n < 700; n++) {
				double at = (double)rand_r(&seed) / RAND_MAX;
				size_t i = 0;
				for (; i < 5 && at >= shares[i]; i++)
					at -= shares[i];
				parts[i].samples++;
			}
			both[side] = report(700, 1, parts);
		}
		AUTO_JSON json_t *diff = compare(both[0], both[1]);
		wrong += json_is_true(json_object_get(diff, "changed"));
	}
	cr_expect_leq(wrong, 10, "%u of 1000", wrong);
}

Test(report_diff, headlines_are_short_and_printable)
{
	char names[2][400];
	for (size_t i = 0; i < 2; i++) {
		memset(names[i], 'a' + (char)i, sizeof names[i] - 1);
		names[i][sizeof names[i] - 1] = '\0';
		names[i][300] = '.';
	}
	memcpy(names[1], "\x1b[31m", 5);
	memcpy(names[1] + 340, "äöü.Pay", strlen("äöü.Pay"));
	struct part before[PARTS] = {{names[0], 900}, {"x", 100}}, after[PARTS] = {{names[1], 900}, {"x", 100}};
	AUTO_JSON json_t *moved = compare(report(1000, 1, before), report(1000, 1, after));
	struct part more[PARTS] = {{names[0], 900}, {"x", 900}};
	AUTO_JSON json_t *grown = compare(report(1000, 1, before), report(1800, 1.8, more));
	for (int i = 0; i < 2; i++) {
		const char *headline = jsonx_str_at(i ? grown : moved, "headline", "");
		cr_expect_leq(chars(headline), REPORT_DIFF_HEADLINE_CHARS, "%zu: %s", chars(headline), headline);
		cr_expect_null(strchr(jsonx_str_at(i ? grown : moved, "diagnosis", ""), 0x1b));
	}
	AUTO_BUF struct buf text;
	buf_init(&text, 1 << 20);
	cr_expect_eq(report_diff_print(moved, &text), 0);
	cr_expect_null(strchr(buf_str(&text), 0x1b));
	cr_expect(strstr(buf_str(&text), "BEFORE"), "%s", buf_str(&text));
}

Test(report_diff, says_what_makes_two_reports_unlike)
{
	static const struct part parts[PARTS] = {{"A.B", 1000}};
	json_t *before = report(1000, 1, parts), *after = report(1000, 1, parts);
	json_object_set_new(json_object_get(after, "target"), "runtimeVersion", json_string("8.0.1"));
	json_object_set_new(json_object_get(after, "target"), "entrypoint", json_null());
	json_object_set_new(json_object_get(after, "sampling"), "method", json_string("signal-timer"));
	AUTO_JSON json_t *diff = compare(before, after);
	const char *text = jsonx_str_at(diff, "diagnosis", "");
	cr_expect(strstr(text, ".NET: 10.0.1 before, 8.0.1 after."), "%s", text);
	cr_expect(strstr(text, "Not the same program: Checkout before, not known after."), "%s", text);
	cr_expect(strstr(text, "Sampled in different ways: perf-thread before, signal-timer after: kernel"), "%s", text);
	cr_expect(strstr(text, "Compared 1000 samples with 1000: differences up to "), "%s", text);
}

Test(report_diff, refuses_what_cannot_be_compared)
{
	static const struct {
		const char *path, *key, *value; /* "path.key" of the second report becomes this JSON; NULL: it goes */
		const char *message;
	} rows[] = {
		{"", "schema", "\"drdotnet.dev/report/v2\"", "the report after: schema: \"drdotnet.dev/report/v2\" cannot be compared"},
		{"", "schema", NULL, "the report after: no report.json of Dr-Dotnet: schema: required"},
		{"", "profiler", "\"GCSurvivors\"", "profiler: CPUHotpaths before, GCSurvivors after: compare two sessions of one profiler"},
		{"", "profiler", "7", "the report after: profiler: expected a string"},
		{"sampling", "samples", NULL, "the report after: sampling.samples: required"},
		{"sampling", "samples", "-1", "the report after: sampling.samples: must be between 0 and"},
		{"sampling", "samples", "\"x\"", "the report after: sampling.samples: expected a number"},
		{"sampling", "samples", "999", "the report after: methods[0]: self: must be between 0 and 999"},
		{"time", "durationSeconds", "0", "the report after: time.durationSeconds: must be between"},
		{"cpu", "usedNanoseconds", "1e300", "the report after: cpu.usedNanoseconds: must be between"},
		{"", "methods", NULL, "the report after: methods: required"},
		{"", "methods", "[{\"name\":\"x\"}]", "the report after: methods.layer: required"},
		{"", "methods", "[7]", "the report after: methods.name: required"},
		{"", "categories", "{}", "the report after: categories: expected a list"},
	};
	static const struct part parts[PARTS] = {{"A.B", 1000}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_JSON json_t *before = report(1000, 1, parts);
		AUTO_JSON json_t *after = report(1000, 1, parts);
		json_t *at = rows[i].path[0] ? json_object_get(after, rows[i].path) : after;
		if (rows[i].value)
			json_object_set_new(at, rows[i].key, json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
		else
			json_object_del(at, rows[i].key);
		struct err e = ERR_INIT;
		cr_expect_null(report_diff_make(before, after, &e), "row %zu", i);
		cr_expect_eq(e.kind, ERR_INVALID);
		cr_expect(strncmp(e.message, rows[i].message, strlen(rows[i].message)) == 0, "row %zu: %s", i, e.message);
	}
	struct err e = ERR_INIT;
	cr_expect_null(report_diff_make_text("{}", 2, "a.json", "[", 1, "b.json", &e));
	cr_expect(strncmp(e.message, "b.json: line 1", 14) == 0, "%s", e.message);
	cr_expect_eq(e.kind, ERR_INVALID);
}

/* A process that compiles its code, beside itself when it is done. */
static json_t *aged(json_t *r, int jit, int uptime_seconds)
{
	json_t *category = json_pack("{s:s, s:s, s:i}", "category", "jit", "title", "JIT compilation", "samples", jit);
	json_array_append_new(json_object_get(r, "categories"), category);
	if (uptime_seconds >= 0)
		json_object_set_new(json_object_get(r, "cpu"), "uptimeSeconds", json_integer(uptime_seconds));
	return r;
}

Test(report_diff, a_session_of_warming_up_is_not_compared_by_methods)
{
	static const struct part cold[PARTS] = {{"A.B", 100}, {"A.Slow", 300}}, warm[PARTS] = {{"A.B", 800}, {"A.N", 150}};
	static const struct {
		int jit[2], uptime[2];
		const char *headline, *line;
	} rows[] = {
		{{430, 20}, {3, 900}, "The session before was warming up: 43% of CPU in compilation, 2.0% after", "had run for 3 seconds"},
		{{20, 430}, {900, 3}, "The session after was warming up: 43% of CPU in compilation, 2.0% before", "Methods are not compared"},
		{{430, 20}, {-1, -1}, "The session before was warming up: 43% of CPU in compilation, 2.0% after", "some minutes under load"},
		{{50, 20}, {599, 900}, "The session before was warming up: 5.0% of CPU in compilation, 2.0% after", "599 seconds"},
		/* the other sides */
		{{49, 20}, {599, 900}, "A.B grew: 10% to 80% of CPU", "A.Slow vanished"},
		{{430, 20}, {600, 900}, "CPU moved from A.Slow to A.B", "JIT compilation shrank"},
		{{430, 200}, {3, 4}, "A.B grew: 10% to 80% of CPU", "A.Slow vanished"},
		{{90, 20}, {-1, -1}, "A.B grew: 10% to 80% of CPU", "A.Slow vanished"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_JSON json_t *diff = compare(aged(report(1000, 1, cold), rows[i].jit[0], rows[i].uptime[0]),
						 aged(report(1000, 1, warm), rows[i].jit[1], rows[i].uptime[1]));
		const char *text = jsonx_str_at(diff, "diagnosis", "");
		bool warming = strstr(rows[i].headline, "warming") != NULL;
		cr_expect(warming || strstr(text, "grew"), "row %zu: %s", i, text);
		cr_expect(!warming || strcmp(jsonx_str_at(diff, "headline", ""), rows[i].headline) == 0, "row %zu: %s", i, text);
		cr_expect(strstr(text, rows[i].line), "row %zu: %s", i, text);
		cr_expect_eq(json_is_true(json_object_get(diff, "changed")), !warming, "row %zu", i);
		cr_expect(!warming || strcmp(jsonx_str_at(row_of(diff, "A.Slow"), "change", ""), "same") == 0, "row %zu", i);
	}
}

static json_t *calling(json_t *r, const char *caller, const char *callee)
{
	json_object_set_new(r, "topMethods", json_pack("[{s:s, s:[{s:s}]}]", "name", callee, "callers", "name", caller));
	return r;
}

Test(report_diff, neighbours_that_inlining_exchanges_are_the_same)
{
	static const struct {
		struct part before[PARTS], after[PARTS];
		const char *caller, *callee;
		const char *headline;
	} rows[] = {
		{{{"A.B", 500}, {"A.C", 500}}, {{"A.B", 1000}}, "A.B", "A.C", "No difference beyond noise"},
		{{{"A.B", 1000}}, {{"A.B", 500}, {"A.C", 500}}, "A.B", "A.C", "No difference beyond noise"},
		{{{"A.B", 490}, {"A.C", 510}}, {{"A.B", 880}, {"A.C", 120}}, "A.B", "A.C", "No difference beyond noise"}, /* inlined in most callers */
		/* the other sides: more than the callee had, another place, and one that is there in both */
		{{{"A.B", 300}, {"A.C", 200}, {"A.D", 500}}, {{"A.B", 800}, {"A.D", 200}}, "A.B", "A.C", "CPU moved from A.D to A.B"},
		{{{"A.B", 500}, {"A.C", 500}}, {{"A.B", 1000}}, "A.X", "A.C", "CPU moved from A.C to A.B"},
		{{{"A.B", 490}, {"A.C", 510}}, {{"A.B", 810}, {"A.C", 190}}, "A.B", "A.C", "CPU moved from A.C to A.B"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_JSON json_t *diff = compare(calling(report(1000, 1, rows[i].before), rows[i].caller, rows[i].callee), report(1000, 1, rows[i].after));
		const char *text = jsonx_str_at(diff, "diagnosis", "");
		bool same = strstr(rows[i].headline, "No difference") != NULL;
		cr_expect_str_eq(jsonx_str_at(diff, "headline", ""), rows[i].headline, "row %zu: %s", i, text);
		cr_expect_eq(json_is_true(json_object_get(diff, "changed")), !same, "row %zu", i);
		cr_expect_eq(strstr(text, "one calls the other, and in one session the compiler had inlined it") != NULL, same, "row %zu: %s", i, text);
	}
}

Test(report_diff, says_that_the_session_before_is_the_younger_one)
{
	static const struct part parts[PARTS] = {{"A.B", 1000}};
	static const struct {
		const char *before, *after;
		bool said;
	} rows[] = {
		{"2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z", true},
		{"2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", false},
		{"2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", false},
		{"2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00Z", false},
		{"", "", false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		json_t *sides[2] = {report(1000, 1, parts), report(1000, 1, parts)};
		json_object_set_new(json_object_get(sides[0], "time"), "startedAt", json_string(rows[i].before));
		json_object_set_new(json_object_get(sides[1], "time"), "startedAt", json_string(rows[i].after));
		AUTO_JSON json_t *diff = compare(sides[0], sides[1]);
		const char *text = jsonx_str_at(diff, "diagnosis", "");
		bool said = strstr(text, "\nThe session before is the younger one: it began at 2026-01-01T00:00:01Z");
		cr_expect_eq(said, rows[i].said, "row %zu: %s", i, text);
	}
}
