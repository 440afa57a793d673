#include "agent/host/cgroup.h"
#include "agent/profilers/leak/leak_limit.h"
#include "agent/profilers/leak/leak_plan.h"
#include "agent/profilers/leak/leak_verdict.h"
#include "tests/unit/agent/profilers/leak/make_model.h"

#include <criterion/criterion.h>
#include <math.h>

#define OLD 3600000
#define MATERIAL 1000

static const struct {
	const char *what;
	enum leak_root root;
	int64_t uptime_ms;
	size_t walks;
	uint64_t bytes[LEAK_MAX_WALKS];
	bool old;
	enum leak_course course;
	enum leak_verdict verdict;
} rows[] = {
	{"grows between two walks", LEAK_ROOT_STATIC, OLD, 2, {5000, 9000}, false, LEAK_COURSE_UNKNOWN, LEAK_GROWS},
	{"one byte below the material growth", LEAK_ROOT_STATIC, OLD, 2, {5000, 5999}, false, LEAK_COURSE_UNKNOWN, LEAK_STEADY},
	{"the material growth", LEAK_ROOT_STATIC, OLD, 2, {5000, 6000}, false, LEAK_COURSE_UNKNOWN, LEAK_GROWS},
	{"shrinks", LEAK_ROOT_STATIC, OLD, 2, {9000, 5000}, false, LEAK_COURSE_UNKNOWN, LEAK_STEADY},
	{"was not there at first", LEAK_ROOT_STATIC, OLD, 2, {0, 5000}, false, LEAK_COURSE_UNKNOWN, LEAK_GROWS},
	{"nothing known holds it", LEAK_ROOT_UNKNOWN, OLD, 3, {1000, 5000, 9000}, true, LEAK_COURSE_RISES, LEAK_NOT_HELD},
	{"young on a stack", LEAK_ROOT_STACK, OLD, 3, {1000, 5000, 9000}, false, LEAK_COURSE_RISES, LEAK_IN_USE},
	{"old on a stack that is new", LEAK_ROOT_STACK, OLD, 3, {0, 5000, 9000}, true, LEAK_COURSE_RISES, LEAK_IN_USE},
	{"old on a stack all the time", LEAK_ROOT_STACK, OLD, 3, {1000, 5000, 9000}, true, LEAK_COURSE_RISES, LEAK_GROWS},
	{"by a handle", LEAK_ROOT_HANDLE, OLD, 2, {1000, 9000}, false, LEAK_COURSE_UNKNOWN, LEAK_GROWS},
	{"steadily", LEAK_ROOT_STATIC, OLD, 5, {1000, 2000, 3000, 4000, 5000}, false, LEAK_COURSE_UNKNOWN, LEAK_GROWS},
	{"a queue that fills and empties", LEAK_ROOT_STATIC, OLD, 4, {1000, 9000, 2000, 6000}, false, LEAK_COURSE_UNKNOWN, LEAK_FLUCTUATES},
	{"falls back by a fifth", LEAK_ROOT_STATIC, OLD, 4, {0, 10000, 8000, 10000}, false, LEAK_COURSE_UNKNOWN, LEAK_LEVELLED_OFF},
	{"falls back by more", LEAK_ROOT_STATIC, OLD, 4, {0, 10000, 7999, 10000}, false, LEAK_COURSE_UNKNOWN, LEAK_FLUCTUATES},
	{"falls back, and goes on", LEAK_ROOT_STATIC, OLD, 4, {0, 10000, 8000, 18000}, false, LEAK_COURSE_UNKNOWN, LEAK_GROWS},
	{"fills up and stays", LEAK_ROOT_STATIC, OLD, 3, {1000, 9000, 9000}, false, LEAK_COURSE_UNKNOWN, LEAK_LEVELLED_OFF},
	{"hardly goes on", LEAK_ROOT_STATIC, OLD, 3, {1000, 11000, 12990}, false, LEAK_COURSE_UNKNOWN, LEAK_LEVELLED_OFF},
	{"goes on at more than a fifth of the pace", LEAK_ROOT_STATIC, OLD, 3, {1000, 11000, 13010}, false, LEAK_COURSE_UNKNOWN, LEAK_SLOWS_DOWN},
	{"at less than two thirds of it", LEAK_ROOT_STATIC, OLD, 3, {1000, 11000, 17300}, false, LEAK_COURSE_UNKNOWN, LEAK_SLOWS_DOWN},
	{"at about two thirds of it", LEAK_ROOT_STATIC, OLD, 3, {1000, 11000, 17400}, false, LEAK_COURSE_UNKNOWN, LEAK_GROWS},
	{"a cache that fills", LEAK_ROOT_STATIC, OLD, 10, {1000, 3500, 5300, 6800, 7900, 8700, 9300, 9700, 10000, 10300}, false, LEAK_COURSE_UNKNOWN,
	 LEAK_SLOWS_DOWN},
	{"a cache that has filled", LEAK_ROOT_STATIC, OLD, 10, {1000, 6000, 8400, 9400, 9800, 9900, 10000, 10000, 10000, 10000}, false, LEAK_COURSE_UNKNOWN,
	 LEAK_LEVELLED_OFF},
	{"has grown for long, and stopped just now", LEAK_ROOT_STATIC, OLD, 5, {1000, 2000, 3000, 4000, 4000}, false, LEAK_COURSE_UNKNOWN, LEAK_SLOWS_DOWN},
	{"one batch, just now", LEAK_ROOT_STATIC, OLD, 5, {1000, 1000, 1000, 9000, 9000}, false, LEAK_COURSE_UNKNOWN, LEAK_SLOWS_DOWN},
	{"one batch, long ago", LEAK_ROOT_STATIC, OLD, 5, {1000, 1000, 9000, 9000, 9000}, false, LEAK_COURSE_UNKNOWN, LEAK_LEVELLED_OFF},
	{"steadily, but for the load", LEAK_ROOT_STATIC, OLD, 6, {1000, 2500, 2600, 4200, 4300, 6000}, false, LEAK_COURSE_UNKNOWN, LEAK_GROWS},
	{"begins at the end", LEAK_ROOT_STATIC, OLD, 3, {1000, 1000, 9000}, false, LEAK_COURSE_UNKNOWN, LEAK_GROWS},
	{"two walks, the memory's course levels", LEAK_ROOT_STATIC, OLD, 2, {1000, 9000}, false, LEAK_COURSE_LEVELS, LEAK_UNCERTAIN},
	{"two walks, it rises", LEAK_ROOT_STATIC, OLD, 2, {1000, 9000}, false, LEAK_COURSE_RISES, LEAK_GROWS},
	{"three walks know better than the course", LEAK_ROOT_STATIC, OLD, 3, {1000, 5000, 9000}, false, LEAK_COURSE_LEVELS, LEAK_GROWS},
	{"just started, two walks", LEAK_ROOT_STATIC, 59999, 2, {1000, 9000}, false, LEAK_COURSE_RISES, LEAK_WARMING_UP},
	{"started a minute ago", LEAK_ROOT_STATIC, 60000, 2, {1000, 9000}, false, LEAK_COURSE_RISES, LEAK_GROWS},
	{"start not known", LEAK_ROOT_STATIC, -1, 2, {1000, 9000}, false, LEAK_COURSE_RISES, LEAK_GROWS},
	{"just started, slows down", LEAK_ROOT_STATIC, 5000, 3, {1000, 9000, 12000}, false, LEAK_COURSE_UNKNOWN, LEAK_WARMING_UP},
	{"just started, steadily", LEAK_ROOT_STATIC, 5000, 3, {1000, 9000, 17000}, false, LEAK_COURSE_UNKNOWN, LEAK_GROWS},
};

Test(leak_verdict, follows_its_rules)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct leak_series s = {.walks = rows[i].walks, .root = rows[i].root, .old = rows[i].old, .uptime_ms = rows[i].uptime_ms,
					.course = rows[i].course, .material_bytes = MATERIAL};
		for (size_t w = 0; w < s.walks; w++) {
			s.bytes[w] = rows[i].bytes[w];
			s.at_ns[w] = (int64_t)w * SECOND;
		}
		cr_expect_eq(leak_verdict_of(&s), rows[i].verdict, "%s: %s", rows[i].what, leak_verdict_name(leak_verdict_of(&s)));
	}
}

Test(leak_verdict, pace_is_by_time_and_not_by_walk)
{
	struct leak_series s = {.walks = 3, .root = LEAK_ROOT_STATIC, .uptime_ms = OLD, .material_bytes = MATERIAL,
				.bytes = {0, 10000, 11000}, .at_ns = {0, 10 * SECOND, 11 * SECOND}};
	cr_expect_eq(leak_verdict_of(&s), LEAK_GROWS);
	s.at_ns[2] = 20 * SECOND;
	cr_expect_eq(leak_verdict_of(&s), LEAK_LEVELLED_OFF);
	s.at_ns[2] = 10 * SECOND + 6700 * (SECOND / 1000); /* for two thirds of the time in which it grew */
	s.bytes[2] = 10000;
	cr_expect_eq(leak_verdict_of(&s), LEAK_LEVELLED_OFF);
	s.at_ns[2] = 10 * SECOND + 6600 * (SECOND / 1000);
	cr_expect_eq(leak_verdict_of(&s), LEAK_SLOWS_DOWN);
	s.at_ns[2] = 11 * SECOND; /* ended early: it has not stood for long enough to be said to stay */
	s.bytes[2] = 10000;
	cr_expect_eq(leak_verdict_of(&s), LEAK_SLOWS_DOWN);
}

Test(leak_fit, knows_a_filling_by_its_course)
{
	struct leak_fit f;
	int64_t at_ns[10];
	uint64_t fills[10], line[10];
	for (size_t i = 0; i < 10; i++) { /* time constant 100 s, one walk each 30 s */
		at_ns[i] = (int64_t)(i + 7) * 30 * SECOND;
		fills[i] = 5000000 + (uint64_t)(100e6 * (1 - exp(-0.3 * (double)i)));
		line[i] = 5000000 + 7000000 * i;
	}
	leak_fit_make(at_ns, fills, 10, &f);
	cr_expect(f.fills && !f.steady);
	cr_expect_float_eq(f.full_bytes, 105e6, 1e6);
	cr_expect_float_eq(f.pace_left, exp(-2.7), 0.01);
	cr_expect_float_eq(f.settle_seconds, 30, 5);
	cr_expect_float_eq(f.look_seconds, 350, 10);
	leak_fit_make(at_ns, line, 10, &f);
	cr_expect(!f.fills && f.steady);
	cr_expect_eq(f.stood_seconds, 0);
	leak_fit_make(at_ns, line, 2, &f);
	cr_expect(!f.fills && !f.steady);
	leak_fit_make(at_ns, line, 0, &f);
	cr_expect(!f.fills && !f.steady);
	line[9] = 0;
	leak_fit_make(at_ns, line, 10, &f);
	cr_expect(!f.fills && !f.steady);
	for (size_t i = 0; i < 10; i++)
		at_ns[i] = 0;
	leak_fit_make(at_ns, fills, 10, &f);
	cr_expect(!f.fills && !f.steady);
}

/* Arrays that double. */
Test(leak_verdict, leaps)
{
	static const struct {
		const char *what;
		int64_t uptime_ms;
		size_t walks;
		uint64_t kb[LEAK_MAX_WALKS];
		enum leak_verdict verdict;
	} leaps[] = {
		{"one leap, long ago", OLD, 5, {256, 512, 512, 512, 512}, LEAK_UNCERTAIN},
		{"one leap, just now", OLD, 5, {256, 256, 256, 256, 512}, LEAK_UNCERTAIN},
		{"one leap, two walks", OLD, 2, {256, 512}, LEAK_UNCERTAIN},
		{"one leap of a process that has just started", 5000, 2, {256, 512}, LEAK_WARMING_UP},
		{"a leap at each walk", OLD, 5, {256, 512, 1024, 2048, 4096}, LEAK_GROWS},
		{"a leap at each walk from nothing", OLD, 4, {0, 512, 1024, 2048}, LEAK_GROWS},
		{"two leaps, the second just now", OLD, 5, {256, 512, 512, 512, 1024}, LEAK_GROWS},
		{"two leaps, stands for as long as it may", OLD, 5, {256, 1024, 2048, 2048, 2048}, LEAK_UNCERTAIN},
		{"two leaps, stands for longer", OLD, 8, {256, 512, 1024, 1024, 1024, 1024, 1024, 1024}, LEAK_LEVELLED_OFF},
		{"several at once, two walks", OLD, 2, {256, 2048}, LEAK_GROWS},
		{"several at once, then stands", OLD, 5, {256, 2048, 2048, 2048, 2048}, LEAK_LEVELLED_OFF},
		{"several at once, stands for as long as it may", OLD, 4, {256, 2048, 2048, 2048}, LEAK_UNCERTAIN},
		{"by little", OLD, 4, {1024, 1324, 1624, 1924}, LEAK_GROWS},
		{"by little, and stays", OLD, 4, {1024, 1424, 1424, 1424}, LEAK_LEVELLED_OFF},
		{"falls back", OLD, 4, {256, 1024, 256, 1024}, LEAK_FLUCTUATES},
	};
	for (size_t i = 0; i < sizeof leaps / sizeof leaps[0]; i++) {
		struct leak_series s = {.walks = leaps[i].walks, .root = LEAK_ROOT_STATIC, .uptime_ms = leaps[i].uptime_ms, .leaps = true,
					.material_bytes = MATERIAL};
		for (size_t w = 0; w < s.walks; w++) {
			s.bytes[w] = leaps[i].kb[w] << 10;
			s.at_ns[w] = (int64_t)w * SECOND;
		}
		cr_expect_eq(leak_verdict_of(&s), leaps[i].verdict, "%s: %s", leaps[i].what, leak_verdict_name(leak_verdict_of(&s)));
	}
}

Test(leak_forecast, no_farther_than_what_was_measured_tells)
{
	const struct leak_limit limit = {INT64_C(1) << 30, 0, -1};
	struct leak_forecast f;
	leak_forecast_make(&limit, 1 << 20, 120, &f); /* 1,024 minutes */
	cr_expect_eq(f.seconds, 61440);
	leak_forecast_make(&limit, 1 << 20, 10, &f);
	cr_expect_eq(f.seconds, -1);
	cr_expect_eq(f.farthest, 20000);
	leak_forecast_make(&limit, 1, 1e9, &f);
	cr_expect_eq(f.seconds, -1);
	cr_expect_eq(f.farthest, 30 * 86400);
}

Test(leak_verdict, material_growth_and_confidence)
{
	cr_expect_eq(leak_material_bytes(0), 262144);
	cr_expect_eq(leak_material_bytes(UINT64_C(1000000000)), 5000000);
	static const struct {
		size_t walks;
		int64_t uptime_ms;
		bool steady;
		enum leak_confidence confidence;
	} table[] = {{2, OLD, true, LEAK_LOW},   {3, OLD, true, LEAK_MEDIUM},   {4, OLD, true, LEAK_MEDIUM}, {5, OLD, true, LEAK_HIGH},
		     {5, -1, true, LEAK_HIGH}, {10, 1000, true, LEAK_MEDIUM}, {10, OLD, false, LEAK_MEDIUM}};
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		cr_expect_eq(leak_confidence_of(table[i].walks, table[i].uptime_ms, table[i].steady), table[i].confidence, "row %zu", i);
}

Test(leak_curve, tells_growth_that_goes_on)
{
	static const struct {
		const char *what;
		size_t count;
		uint64_t mb[12];
		uint64_t growth_mb;
		enum leak_course course;
	} curves[] = {
		{"rises", 9, {10, 11, 12, 13, 14, 15, 16, 17, 18}, 8, LEAK_COURSE_RISES},
		{"levels", 9, {10, 13, 16, 18, 18, 18, 18, 18, 18}, 8, LEAK_COURSE_LEVELS},
		{"falls at the end", 9, {10, 13, 16, 20, 20, 19, 18, 18, 18}, 8, LEAK_COURSE_LEVELS},
		{"does not show it", 9, {10, 10, 10, 10, 10, 10, 11, 11, 11}, 8, LEAK_COURSE_UNKNOWN},
		{"too short", 5, {10, 11, 12, 13, 14}, 4, LEAK_COURSE_UNKNOWN},
		{"nothing grew", 9, {10, 10, 10, 10, 10, 10, 10, 10, 10}, 0, LEAK_COURSE_UNKNOWN},
	};
	for (size_t i = 0; i < sizeof curves / sizeof curves[0]; i++) {
		struct leak_curve c = {0};
		for (size_t k = 0; k < curves[i].count; k++)
			leak_curve_add(&c, (int64_t)k * SECOND, curves[i].mb[k] << 20);
		cr_expect_eq(leak_curve_course(&c, curves[i].growth_mb << 20), curves[i].course, "%s", curves[i].what);
	}
}

Test(leak_plan, time_that_is_left_is_shared_evenly)
{
	static const struct {
		const char *what;
		int64_t walked, end;
		size_t left;
		int64_t next;
	} plans[] = {
		{"the first of two between", 100, 400, 3, 200},
		{"the second", 200, 400, 2, 300},
		{"the first took long", 250, 400, 3, 300},
		{"the second was late", 380, 400, 2, 390},
		{"no time is left", 400, 400, 2, 400},
		{"it is over", 500, 400, 2, 400},
		{"the last one", 300, 400, 1, 400},
		{"none", 300, 400, 0, 400},
	};
	for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++)
		cr_expect_eq(leak_plan_next_ns(plans[i].walked, plans[i].end, plans[i].left), plans[i].next, "%s", plans[i].what);
}

Test(leak_curve, any_length_fits)
{
	struct leak_curve c = {0};
	for (int64_t k = 0; k < 100000; k++)
		leak_curve_add(&c, k * SECOND, (uint64_t)k);
	cr_expect_leq(c.count, LEAK_CURVE_MAX);
	cr_expect_gt(c.count, LEAK_CURVE_MAX / 4);
	cr_expect_eq(c.samples[0].at_ns, 0);
	for (size_t i = 1; i < c.count; i++)
		cr_assert_gt(c.samples[i].at_ns, c.samples[i - 1].at_ns);
	cr_expect_gt(c.samples[c.count - 1].at_ns, 90000 * SECOND);
	cr_expect_eq(leak_curve_course(&c, 100000), LEAK_COURSE_RISES);
}

Test(leak_limit, tells_when_it_is_reached)
{
	static const struct {
		const char *what;
		struct leak_limit limit;
		double per_minute;
		enum leak_limit_kind kind;
		int64_t limit_bytes, seconds;
	} table[] = {
		{"container", {1000, 400, -1}, 100, LEAK_LIMIT_CONTAINER, 1000, 360},
		{"container, however much the node has", {1000, 400, 50}, 100, LEAK_LIMIT_CONTAINER, 1000, 360},
		{"already there", {1000, 1200, -1}, 100, LEAK_LIMIT_CONTAINER, 1000, 0},
		{"not growing", {1000, 400, -1}, 0, LEAK_LIMIT_CONTAINER, 1000, -1},
		{"shrinking", {1000, 400, -1}, -5, LEAK_LIMIT_CONTAINER, 1000, -1},
		{"farther than a month", {INT64_C(1) << 60, 400, -1}, 1, LEAK_LIMIT_CONTAINER, INT64_C(1) << 60, -1},
		{"no limit: the node", {0, 400, 5000}, 100, LEAK_LIMIT_NODE, 5000, 3000},
		{"limit not known", {-1, -1, 5000}, 100, LEAK_LIMIT_NONE, -1, -1},
		{"no limit, node not known", {0, 400, -1}, 100, LEAK_LIMIT_NONE, -1, -1},
	};
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		struct leak_forecast f;
		leak_forecast_make(&table[i].limit, table[i].per_minute, 86400, &f);
		cr_expect_eq(f.kind, table[i].kind, "%s", table[i].what);
		cr_expect_eq(f.limit_bytes, table[i].limit_bytes, "%s", table[i].what);
		cr_expect_eq(f.seconds, table[i].seconds, "%s: %lld", table[i].what, (long long)f.seconds);
	}
}

Test(leak_limit, is_not_forgotten_when_the_pod_goes)
{
	struct leak_limit l = {-1, -1, -1};
	struct leak_forecast f;
	leak_limit_note(&l, &(struct cgroup_memory){.usage_bytes = 400, .limit_bytes = 1000}, 5000);
	leak_limit_note(&l, &(struct cgroup_memory){.usage_bytes = -1, .limit_bytes = -1}, 4000);
	leak_forecast_make(&l, 100, 600, &f);
	cr_expect_eq(f.kind, LEAK_LIMIT_CONTAINER);
	cr_expect_eq(f.seconds, 360);
	leak_limit_note(&l, &(struct cgroup_memory){.usage_bytes = 500, .limit_bytes = 0}, -1);
	leak_forecast_make(&l, 100, 600, &f);
	cr_expect_eq(f.kind, LEAK_LIMIT_NODE);
	cr_expect_eq(f.limit_bytes, 4000);
}

Test(leak_limit, says_measured_times_as_measured)
{
	static const struct {
		double seconds;
		const char *text;
	} times[] = {{0, "0 s"}, {0.06, "0.1 s"}, {12.58, "12.6 s"}, {12.96, "13 s"}, {59.94, "59.9 s"}, {59.96, "1 min"}, {119.7, "2 min"},
		     {125, "2 min 5 s"}, {3599, "59 min 59 s"}, {3599.7, "1 h"}, {4000, "1 h 6 min"}};
	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
		AUTO_BUF struct buf b;
		buf_init(&b, 64);
		leak_put_measured(&b, times[i].seconds);
		cr_expect_str_eq(buf_str(&b), times[i].text, "%s", buf_str(&b));
	}
}

Test(leak_limit, rounds_forecasts_down)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} times[] = {{0, "0 s"}, {7, "7 s"}, {43, "40 s"}, {119, "110 s"}, {120, "2 min"}, {179, "2 min"}, {600, "10 min"}, {2999, "45 min"},
		     {6400, "100 min"},
		     {3 * 3600 - 1, "170 min"}, {3 * 3600, "3 h"}, {34 * 3600, "30 h"}, {48 * 3600 - 1, "45 h"}, {48 * 3600, "2 days"},
		     {29 * 86400, "25 days"}};
	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
		AUTO_BUF struct buf b;
		buf_init(&b, 64);
		leak_put_forecast(&b, times[i].seconds);
		cr_expect_str_eq(buf_str(&b), times[i].text, "%s", buf_str(&b));
	}
}

Test(leak_limit, says_limits_as_kubernetes_does)
{
	static const struct {
		int64_t bytes;
		const char *text;
	} limits[] = {{INT64_C(512) << 20, "512Mi"}, {INT64_C(4) << 30, "4096Mi"}, {500000000, "500 MB"}, {0, "0 bytes"}, {-1, "0 bytes"}};
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		AUTO_BUF struct buf b;
		buf_init(&b, 64);
		leak_put_limit(&b, limits[i].bytes);
		cr_expect_str_eq(buf_str(&b), limits[i].text);
	}
}

Test(leak_verdict, what_a_root_may_hold_that_was_not_read_is_uncertain)
{
	struct leak_series s = {.walks = 2, .root = LEAK_ROOT_UNKNOWN, .uptime_ms = OLD, .bytes = {1000, 9000}, .at_ns = {0, SECOND},
				.material_bytes = MATERIAL};

	cr_expect_eq(leak_verdict_of(&s), LEAK_NOT_HELD);
	s.roots_unread = true;
	cr_expect_eq(leak_verdict_of(&s), LEAK_UNCERTAIN);
	s.root = LEAK_ROOT_STATIC;
	cr_expect_eq(leak_verdict_of(&s), LEAK_GROWS, "what a known root holds is as certain as ever");
}

/* 10 MB a walk at first, and less when others take the CPUs: the same for what it was given. */
Test(leak_verdict, what_gets_less_cpu_has_not_ended_to_grow)
{
	struct leak_series s = {.walks = 4, .uptime_ms = OLD, .material_bytes = MATERIAL, .bytes = {1000, 11000, 14000, 15500}};
	for (size_t i = 0; i < s.walks; i++)
		s.at_ns[i] = (int64_t)i * 10 * SECOND;
	memcpy(s.given_ns, (int64_t[]){0, 20 * SECOND, 26 * SECOND, 29 * SECOND}, 4 * sizeof(int64_t));
	enum leak_verdict alone = leak_verdict_of(&s);
	cr_expect(alone == LEAK_SLOWS_DOWN || alone == LEAK_LEVELLED_OFF, "%s", leak_verdict_name(alone));
	s.lacked_cpu = true;
	cr_expect_eq(leak_verdict_of(&s), LEAK_UNCERTAIN, "%s", leak_verdict_name(leak_verdict_of(&s)));
	memcpy(s.given_ns, s.at_ns, sizeof s.given_ns); /* it lacked as much all the time: it fills */
	cr_expect_eq(leak_verdict_of(&s), alone);
	s = (struct leak_series){.walks = 3, .uptime_ms = OLD, .material_bytes = MATERIAL, .bytes = {1000, 9000, 9000}, .lacked_cpu = true};
	memcpy(s.at_ns, (int64_t[]){0, 10 * SECOND, 20 * SECOND}, 3 * sizeof(int64_t));
	memcpy(s.given_ns, (int64_t[]){0, 18 * SECOND, 20 * SECOND}, 3 * sizeof(int64_t));
	cr_expect_eq(leak_verdict_of(&s), LEAK_UNCERTAIN, "that it stands while it hardly runs is no end: %s", leak_verdict_name(leak_verdict_of(&s)));
}

Test(leak_verdict, time_that_a_process_was_given)
{
	struct leak_model m;
	int64_t given[LEAK_MAX_WALKS];
	make_walks(&m, 3, 60);
	cr_expect(!leak_model_given_ns(&m, given), "not known");
	cr_expect_lt(leak_model_cpus(&m), 0);
	for (size_t w = 0; w < 3; w++) {
		m.walks[w].ran_ns = (int64_t)(5 + w * 10) * SECOND;
		m.walks[w].waited_ns = (int64_t)w * 2 * SECOND;
	}
	cr_expect(!leak_model_given_ns(&m, given), "a sixth of the time is nothing to mind");
	cr_expect_float_eq(leak_model_cpus(&m), 1.0 / 6, 0.001);
	m.walks[2].waited_ns = 92 * SECOND; /* ran a tenth of its last minute */
	cr_expect(leak_model_given_ns(&m, given));
	cr_expect_eq(given[0], m.walks[0].at_ns);
	cr_expect_float_eq((double)given[1] / 1e9, 120 / 1.1, 0.1, "%g", (double)given[1] / 1e9);
	cr_expect_float_eq((double)given[2] / 1e9, 120, 0.1);
	m.walks[2].ran_ns = m.walks[1].ran_ns;
	cr_expect(leak_model_given_ns(&m, given) && given[2] > given[1], "no two walks at one time");
	leak_model_fini(&m);
}
