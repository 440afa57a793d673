#include "controller/kube/kube_clock.h"

#include <criterion/criterion.h>

#define DATE INT64_C(1767225600000) /* whole seconds, as Date is */
#define MONO 50000

Test(kube_clock, follows_the_server_and_no_further_than_its_dates_demand)
{
	static const struct {
		const char *about;
		bool known;
		int64_t offset_ms, date_ms, begun_ms, now_ms, wall_ms;
		int64_t want_ms; /* the server's time at now_ms */
	} rows[] = {
		{"ours agrees and is kept to the millisecond", false, 0, DATE, MONO, MONO + 10, DATE + 345, DATE + 345},
		{"an hour ahead", false, 0, DATE, MONO, MONO + 10, DATE + 3600000, DATE + 1009},
		{"an hour behind", false, 0, DATE, MONO, MONO + 10, DATE - 3600000, DATE},
		{"ours is set under way: nobody notices", true, DATE + 500 - MONO, DATE, MONO, MONO + 10, DATE + 99999999, DATE + 510},
		{"theirs is set forwards", true, DATE - 7200000 - MONO, DATE, MONO, MONO + 10, DATE, DATE},
		{"a slow answer says nothing", true, DATE - 7200000 - MONO, DATE, MONO, MONO + 2001, DATE, DATE - 7200000 + 2001},
		{"an answer without a date", true, DATE - MONO, 0, MONO, MONO + 10, DATE, DATE + 10},
		{"the edge of a second below", true, DATE - MONO - 11, DATE, MONO, MONO + 10, DATE, DATE},
		{"the edge of a second above", true, DATE - MONO + 1000, DATE, MONO, MONO + 10, DATE, DATE + 1009},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct kube_clock c = {rows[i].known, rows[i].offset_ms};
		kube_clock_step(&c, rows[i].date_ms, rows[i].begun_ms, rows[i].now_ms, rows[i].wall_ms);
		cr_expect(c.known, "%s", rows[i].about);
		cr_expect_eq(rows[i].now_ms + c.offset_ms, rows[i].want_ms, "%s: %lld", rows[i].about, (long long)(rows[i].now_ms + c.offset_ms - DATE));
	}
}

Test(kube_clock, nothing_is_known_before_the_first_date)
{
	struct kube_clock c = {0};
	kube_clock_step(&c, 0, MONO, MONO, DATE);
	cr_expect_not(c.known);
	kube_clock_step(&c, DATE, MONO, MONO + 5000, DATE);
	cr_expect_not(c.known);
}
