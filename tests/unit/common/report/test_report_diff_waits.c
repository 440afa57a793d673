/* Comparisons of Waits. */
#include "common/base/mem.h"
#include "common/report/report_diff.h"

#include <criterion/criterion.h>
#include <string.h>

#define REPORT(threads, kinds, places)                                                                                                     \
	"{\"schema\":\"drdotnet.dev/report/v1\",\"profiler\":\"Waits\",\"target\":{\"entrypoint\":\"Shop\"},\"time\":{\"durationSeconds\":10.0}," \
	"\"waiting\":{\"threads\":" threads "},\"kinds\":[" kinds "],\"places\":[" places "]}"
#define KIND(title, threads) "{\"title\":\"" title "\",\"threads\":" threads "}"
#define PLACE(what, method, threads, longest) \
	"{\"what\":\"" what "\",\"method\":" method ",\"threadsWaiting\":" threads ",\"longestNanoseconds\":" longest "}"
#define GET "\"Shop.Cache.Get\""

static json_t *compared(const char *before, const char *after)
{
	struct err e = ERR_INIT;
	return report_diff_make_text(before, strlen(before), "before", after, strlen(after), "after", &e);
}

static void expect_said(const char *before, const char *after, const char *headline, const char *line)
{
	json_t *diff = compared(before, after);
	cr_assert_not_null(diff);
	const char *said = json_string_value(json_object_get(diff, "headline")), *text = json_string_value(json_object_get(diff, "diagnosis"));
	cr_expect(strstr(said, headline), "%s", said);
	cr_expect(strstr(text, line), "%s", text);
	json_decref(diff);
}

Test(report_diff_waits, more_threads_wait_at_a_place)
{
	expect_said(REPORT("1.0", KIND("lock", "1.0"), PLACE("Monitor", GET, "1.0", "20000000")),
		    REPORT("5.0", KIND("lock", "5.0"), PLACE("Monitor", GET, "5.0", "20000000")), "Threads that wait at a time grew",
		    "Monitor in Shop.Cache.Get");
	expect_said(REPORT("0", "", ""), REPORT("3.0", KIND("socket", "3.0"), PLACE("Socket", "null", "3.0", "20000000")), "Threads that wait at a time",
		    "Socket in code of .NET is new");
}

Test(report_diff_waits, one_long_wait_more_is_no_change)
{
	expect_said(REPORT("1.0", KIND("lock", "1.0"), PLACE("Monitor", GET, "1.0", "6000000000")),
		    REPORT("1.1", KIND("lock", "1.1"), PLACE("Monitor", GET, "1.5", "6000000000")), "No difference beyond noise", "the same within noise");
}

Test(report_diff_waits, a_report_that_is_none)
{
	cr_assert_null(compared(REPORT("\"x\"", "", ""), REPORT("1", "", "")));
	cr_assert_null(compared(REPORT("1", "{\"threads\":1}", ""), REPORT("1", "", "")));
	cr_assert_null(compared(REPORT("1", KIND("lock", "\"x\""), ""), REPORT("1", "", "")));
	cr_assert_null(compared(REPORT("1", "", "{\"method\":null,\"threadsWaiting\":1,\"longestNanoseconds\":1}"), REPORT("1", "", "")));
	cr_assert_null(compared(REPORT("1", "", PLACE("Monitor", GET, "1", "-5")), REPORT("1", "", "")));
}
