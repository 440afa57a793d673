#include "controller/triggers/trigger_cron.h"
#include "controller/triggers/trigger_zone.h"

#include "common/base/clock.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MINUTE_MS INT64_C(60000)

static struct trigger_cron cron(const char *text)
{
	struct trigger_cron c;
	struct err e = ERR_INIT;
	cr_assert_eq(trigger_cron_parse(text, &c, &e), 0, "%s: %s", text, e.message);
	return c;
}

static int64_t at(const char *text)
{
	int64_t ms = 0;
	cr_assert_eq(clock_parse_rfc3339(text, &ms), 0, "%s", text);
	return ms;
}

Test(trigger_cron, next_time_in_a_zone)
{
	static const struct {
		const char *cron, *zone, *after, *next;
	} rows[] = {
		{"* * * * *", NULL, "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"},
		{"* * * * *", NULL, "2026-01-01T00:00:59Z", "2026-01-01T00:01:00Z"},
		{"*/15 * * * *", NULL, "2026-01-01T00:14:59Z", "2026-01-01T00:15:00Z"},
		{"5/20 * * * *", NULL, "2026-01-01T00:26:00Z", "2026-01-01T00:45:00Z"},
		{"20-35/15 * * * *", NULL, "2026-01-01T00:21:00Z", "2026-01-01T00:35:00Z"},
		{"0 9-17 * * MON-FRI", NULL, "2026-11-20T17:00:00Z", "2026-11-23T09:00:00Z"},
		{"0 0 1 jan,Jul *", NULL, "2026-01-01T00:00:00Z", "2026-07-01T00:00:00Z"},
		{"0 0 29 2 *", NULL, "2024-02-29T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"0 0 29 2 *", NULL, "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"0 0 31 * *", NULL, "2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z"},
		{"0 0 13 * FRI", NULL, "2026-11-21T00:00:00Z", "2026-11-27T00:00:00Z"}, /* either day is enough */
		{"0 0 13 * *", NULL, "2026-11-21T00:00:00Z", "2026-12-13T00:00:00Z"},
		{"0 0 */2 * FRI", NULL, "2026-11-21T00:00:00Z", "2026-11-23T00:00:00Z"}, /* a step restricts: either day */
		{"0 0 ? * SUN", NULL, "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"},
		{"@hourly", NULL, "2026-11-21T16:00:00Z", "2026-11-21T17:00:00Z"},
		{"@weekly", NULL, "2026-11-22T00:00:00Z", "2026-11-29T00:00:00Z"},
		{"@yearly", NULL, "2026-11-21T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-11-21T01:30:00Z", "2026-11-22T01:30:00Z"},
		{"0 0 * * *", "Asia/Kathmandu", "2026-11-21T00:00:00Z", "2026-11-21T18:15:00Z"},
		/* the clock leaves 02:30 out on the 29th of March, and shows it twice on the 25th of October */
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"},
		{"@hourly", "America/New_York", "2026-03-08T06:00:00Z", "2026-03-08T07:00:00Z"},
		{"0 0 * * *", "America/Sao_Paulo", "2017-10-14T12:00:00Z", "2017-10-16T02:00:00Z"}, /* midnight was left out on the 15th */
		{"0 12 30 12 *", "Pacific/Apia", "2011-01-01T00:00:00Z", "2012-12-29T22:00:00Z"},   /* the day was left out in 2011 */
		{"0 3 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", "2026-04-04T16:30:00Z"},  /* set by half an hour */
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct trigger_cron c = cron(rows[i].cron);
		struct err e = ERR_INIT;
		struct trigger_zone *zone = rows[i].zone ? trigger_zone_open(rows[i].zone, &e) : NULL;
		cr_assert(zone || !rows[i].zone, "%s", e.message);
		char text[CLOCK_RFC3339_SIZE];
		int64_t next = trigger_cron_next(&c, zone ? trigger_zone_offset : NULL, zone, at(rows[i].after));
		cr_expect_str_eq(clock_rfc3339(next, text), rows[i].next, "%s %s after %s: %s", rows[i].cron, rows[i].zone ? rows[i].zone : "",
				 rows[i].after, text);
		trigger_zone_close(zone);
	}
}

Test(trigger_cron, what_is_refused_and_why)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"", "found 0"}, {"* * * *", "found 4"}, {"* * * * * *", "found 6"}, {"60 * * * *", "minute: \"60\": must be between 0 and 59"},
		{"* 24 * * *", "hour"}, {"* * 0 * *", "day of month: \"0\": must be between 1 and 31"}, {"* * 32 * *", "day of month"},
		{"* * * 0 *", "month"}, {"* * * 13 *", "month"}, {"* * * * 7", "day of week: \"7\": must be between 0 and 6"},
		{"* * * * mond", "expected a number, a name or *"}, {"5-1 * * * *", "ends before it begins"}, {"*/0 * * * *", "step"},
		{"*/x * * * *", "step"}, {"*/ * * * *", "step"}, {"1,,2 * * * *", "minute"}, {"1, * * * *", "minute"}, {"-1 * * * *", "minute"},
		{"+1 * * * *", "minute"}, {"1-2-3 * * * *", "minute"}, {"1/2/3 * * * *", "step"}, {"** * * * *", "minute"}, {"99999 * * * *", "minute"},
		{"0 0 30 2 *", "no such day"}, {"0 0 31 4,6,9,11 *", "no such day"}, {"@every 1h", "@hourly"}, {"@Hourly", "@hourly"},
		{"TZ=UTC 0 0 * * *", "found 6"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct trigger_cron c;
		struct err e = ERR_INIT;
		cr_assert_eq(trigger_cron_parse(rows[i].text, &c, &e), -1, "%s", rows[i].text);
		cr_expect(strstr(e.message, rows[i].why), "\"%s\": %s", rows[i].text, e.message);
	}
	char longest[512];
	memset(longest, '1', sizeof longest);
	snprintf(longest + 129, sizeof longest - 129, " * * * *");
	struct trigger_cron c;
	struct err e = ERR_INIT;
	cr_expect_eq(trigger_cron_parse(longest, &c, &e), -1);
	cr_expect(strstr(e.message, "longer than"), "%s", e.message);
}

Test(trigger_cron, zones)
{
	static const char *const bad[] = {"", "Local", "Europe/Atlantis", "../../etc/passwd", "Europe/../../x", "+01:00",
					  "/etc/localtime", ":UTC", "EST5EDT,M3.2.0,M11.1.0"};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct err e = ERR_INIT;
		cr_expect_null(trigger_zone_open(bad[i], &e), "%s", bad[i]);
		cr_expect_eq(e.kind, ERR_INVALID);
	}
	struct trigger_zone *utc = trigger_zone_open("Etc/UTC", NULL);
	cr_assert_not_null(utc);
	cr_expect_eq(trigger_zone_offset(utc, 1790000000), 0);
	trigger_zone_close(utc);
	trigger_zone_close(NULL);
}

/* The model: each minute, by the C library's own clock of the zone, against the schedule's words as sets of numbers. */
struct model {
	const char *cron;
	uint64_t minutes, hours, days, months, weekdays; /* a bit each; 0 is any */
};

#define N(n) (UINT64_C(1) << (n))

static const struct model models[] = {
	{"30 2 * * *", N(30), N(2), 0, 0, 0},
	{"0,15 1-3 * * *", N(0) | N(15), N(1) | N(2) | N(3), 0, 0, 0},
	{"0 0 1 * *", N(0), N(0), N(1), 0, 0},
	{"45 23 13,31 * FRI", N(45), N(23), N(13) | N(31), 0, N(5)},
	{"*/20 * * 3,10 SUN", N(0) | N(20) | N(40), 0, 0, N(3) | N(10), N(0)},
};
enum { MODELS = sizeof models / sizeof models[0] };

static bool among(uint64_t set, int n)
{
	return !set || set & N(n);
}

static bool model_matches(const struct model *m, const struct tm *t)
{
	bool day = among(m->days, t->tm_mday), weekday = among(m->weekdays, t->tm_wday);
	bool days = !m->days || !m->weekdays ? day && weekday : day || weekday;
	return t->tm_sec == 0 && among(m->minutes, t->tm_min) && among(m->hours, t->tm_hour) && among(m->months, t->tm_mon + 1) && days;
}

static void compare(const char *zone_name, time_t from, time_t to)
{
	struct trigger_cron c[MODELS];
	int64_t next[MODELS];
	int count[MODELS] = {0};
	struct err e = ERR_INIT;
	setenv("TZ", zone_name, 1);
	tzset();
	struct trigger_zone *zone = trigger_zone_open(zone_name, &e);
	cr_assert_not_null(zone, "%s", e.message);
	for (int i = 0; i < MODELS; i++) {
		c[i] = cron(models[i].cron);
		next[i] = trigger_cron_next(&c[i], trigger_zone_offset, zone, (int64_t)from * 1000);
	}
	for (time_t utc = from + 60; utc <= to; utc += 60) {
		struct tm t;
		localtime_r(&utc, &t);
		for (int i = 0; i < MODELS; i++) {
			bool mine = next[i] == (int64_t)utc * 1000;
			char text[CLOCK_RFC3339_SIZE];
			if (mine != model_matches(&models[i], &t))
				cr_assert(false, "%s in %s: %s is %s", models[i].cron, zone_name, clock_rfc3339((int64_t)utc * 1000, text),
					  mine ? "too much" : "missing");
			if (mine) {
				next[i] = trigger_cron_next(&c[i], trigger_zone_offset, zone, next[i]);
				count[i]++;
			}
		}
	}
	for (int i = 0; i < MODELS; i++)
		cr_expect_gt(count[i], 0, "%s in %s never came", models[i].cron, zone_name);
	trigger_zone_close(zone);
}

static void compare_in(const char *zone)
{
	compare(zone, 1767222000, 1767222000 + 430 * 86400); /* from the end of 2025 on */
}

Test(trigger_cron, as_a_model_says_each_minute_in_berlin)
{
	compare_in("Europe/Berlin");
}

Test(trigger_cron, as_a_model_says_each_minute_in_new_york)
{
	compare_in("America/New_York");
}

Test(trigger_cron, as_a_model_says_each_minute_on_lord_howe)
{
	compare_in("Australia/Lord_Howe");
}

Test(trigger_cron, as_a_model_says_each_minute_in_casablanca)
{
	compare_in("Africa/Casablanca");
}

Test(trigger_cron, as_a_model_says_when_a_day_was_left_out)
{
	compare("Pacific/Apia", 1314835200, 1314835200 + 366 * 86400); /* from September 2011 on */
}
