#include "common/base/clock.h"

#include <criterion/criterion.h>

Test(clock, writes_and_reads_rfc3339)
{
	static const struct {
		const char *text;
		int64_t wall_ms; /* -1: malformed */
	} rows[] = {
		{"1970-01-01T00:00:00Z", 0},
		{"2026-11-21T08:50:32Z", 1795251032000},
		{"2026-11-21T08:50:32.5Z", 1795251032500},
		{"2026-11-21T08:50:32.123456Z", 1795251032123},
		{"2026-11-21T09:50:32+01:00", 1795251032000},
		{"2026-11-21T03:20:32-05:30", 1795251032000},
		{"2026-13-21T08:50:32Z", -1},
		{"2026-11-21 08:50:32Z", -1},
		{"2026-11-21T08:50:32", -1},
		{"2026-11-21T08:50:32Zx", -1},
		{"2024-02-29T23:59:60Z", 1709251200000},
		{"2023-02-29T00:00:00Z", -1},
		{"2000-02-29T00:00:00Z", 951782400000},
		{"1900-02-29T00:00:00Z", -1},
		{"2026-04-31T00:00:00Z", -1},
		{"2026-00-01T00:00:00Z", -1},
		{"2026-01-00T00:00:00Z", -1},
		{"2026-11-21T24:00:00Z", -1},
		{"2026-11-21T08:60:00Z", -1},
		{"2026-11-21T08:50:61Z", -1},
		{"2026-11-21T08:50:32.Z", -1},
		{"2026-11-21T08:50:32.123456789123456789Z", 1795251032123},
		{"2026-11-21T08:50:32+24:00", -1},
		{"2026-11-21T08:50:32+01:60", -1},
		{"2026-11-21T08:50:32+1:00", -1},
		{"+026-11-21T08:50:32Z", -1},
		{"2026-+1-21T08:50:32Z", -1},
		{"2026- 1-21T08:50:32Z", -1},
		{"2026-11-21T08:50", -1},
		{"", -1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int64_t got = -1;
		int rc = clock_parse_rfc3339(rows[i].text, &got);
		cr_expect_eq(rc, rows[i].wall_ms < 0 ? -1 : 0, "%s", rows[i].text);
		cr_expect_eq(got, rows[i].wall_ms, "%s gave %lld", rows[i].text, (long long)got);
	}
	int64_t kept = 7;
	cr_expect_eq(clock_parse_rfc3339("2026-11-21T08:50:32+", &kept), -1);
	cr_expect_eq(kept, 7, "untouched when it is malformed");
	char out[CLOCK_RFC3339_SIZE];
	cr_expect_str_eq(clock_rfc3339(1795251032999, out), "2026-11-21T08:50:32Z");
	cr_expect_str_eq(clock_rfc3339_micro(1795251032123456, out), "2026-11-21T08:50:32.123456Z");
	cr_expect_str_eq(clock_rfc3339(-1, out), "1969-12-31T23:59:59Z", "before 1970 the second is the one that has begun, too");
	cr_expect_str_eq(clock_rfc3339_micro(-1, out), "1969-12-31T23:59:59.999999Z");
	cr_expect_str_eq(clock_rfc3339_micro(-1000001, out), "1969-12-31T23:59:58.999999Z");
	cr_expect_str_eq(clock_rfc3339(-55096404955000, out), "0224-01-25T03:04:05Z", "a year has four digits");
}

Test(clock, sleeps_until_a_time_that_may_have_passed)
{
	int64_t start = clock_mono_ms();
	clock_sleep_until_ms(start - 1000);
	clock_sleep_until_ms(0);
	cr_expect_lt(clock_mono_ms() - start, 5000);
	clock_sleep_until_ms(start + 30);
	cr_expect_geq(clock_mono_ms(), start + 30);
}
