/* Comparisons of StuckTasks. */
#include "common/report/report_diff.h"

#include <criterion/criterion.h>
#include <string.h>

#define REPORT(operations, reply, more)                                                                                                       \
	"{\"schema\":\"drdotnet.dev/report/v1\",\"profiler\":\"StuckTasks\",\"target\":{\"entrypoint\":\"Shop\"},\"time\":{\"durationSeconds\":10.0}," \
	"\"looks\":{\"operations\":" operations ",\"lasting\":5},\"measured\":{\"queue\":0,\"reply\":" reply ",\"httpWaiting\":0,\"faults\":0" more "}}"

static const struct {
	const char *before, *after, *headline;
} rows[] = {
	{REPORT("100", "0", ",\"never\":0"), REPORT("900", "0", ",\"never\":0"), "Nothing changed: operations that nobody can complete 0 before, 0 after"},
	{REPORT("100", "0", ",\"never\":0"), REPORT("100", "0", ",\"never\":666"), "There are operations that nobody can complete, and were not before"},
	{REPORT("100", "0", ",\"never\":666"), REPORT("100", "0", ",\"never\":0"), "The operations that nobody could complete are gone"},
	{REPORT("100", "0", ",\"never\":1"), REPORT("100", "50", ",\"never\":1"), "Changed: operations that nobody can complete 1 before, 1 after"},
	{REPORT("100", "0", ",\"never\":null"), REPORT("100", "0", ",\"never\":null,\"databaseWaiting\":96"),
	 "Changed: operations that nobody can complete 0 before, 0 after"},
};

static json_t *compared_tasks(const char *before, const char *after)
{
	struct err e = ERR_INIT;
	return report_diff_make_text(before, strlen(before), "before", after, strlen(after), "after", &e);
}

Test(report_diff_stucktasks, says_what_changed)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		json_t *diff = compared_tasks(rows[i].before, rows[i].after);
		cr_assert_not_null(diff, "row %zu", i);
		cr_expect_str_eq(json_string_value(json_object_get(diff, "headline")), rows[i].headline, "row %zu", i);
		json_decref(diff);
	}
}

Test(report_diff_stucktasks, a_report_that_is_none)
{
	cr_assert_null(compared_tasks(REPORT("-1", "0", ""), REPORT("1", "0", "")));
	cr_assert_null(compared_tasks(REPORT("1", "0", ""), REPORT("1", "\"x\"", "")));
}
