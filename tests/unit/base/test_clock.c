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
		{"", -1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int64_t got = -1;
		int rc = clock_parse_rfc3339(rows[i].text, &got);
		cr_expect_eq(rc, rows[i].wall_ms < 0 ? -1 : 0, "%s", rows[i].text);
		cr_expect_eq(got, rows[i].wall_ms, "%s gave %lld", rows[i].text, (long long)got);
	}
	char out[CLOCK_RFC3339_SIZE];
	cr_expect_str_eq(clock_rfc3339(1795251032999, out), "2026-11-21T08:50:32Z");
	cr_expect_str_eq(clock_rfc3339_micro(1795251032123456, out), "2026-11-21T08:50:32.123456Z");
}
