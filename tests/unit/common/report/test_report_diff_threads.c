/* Comparisons of Threads. */
#include "common/base/mem.h"
#include "common/report/report_diff.h"

#include <criterion/criterion.h>
#include <string.h>

#define REPORT(threads, groups)                                                                                                            \
	"{\"schema\":\"drdotnet.dev/report/v1\",\"profiler\":\"Threads\",\"target\":{\"entrypoint\":\"Shop\"},\"time\":{\"durationSeconds\":5.0}," \
	"\"measured\":{\"threads\":" threads ",\"threadsApplication\":10,\"threadsWorkers\":4,\"threadsStill\":8,\"zombies\":0},"                 \
	"\"methods\":[{\"name\":\"Shop.Orders.Reserve\",\"layer\":\"application\"}],\"groups\":[" groups "]}"
#define GROUP(threads, place) "{\"kind\":\"application\",\"wait\":\"event\",\"place\":" place ",\"threads\":" threads "}"

static json_t *compared(const char *before, const char *after)
{
	struct err e = ERR_INIT;
	return report_diff_make_text(before, strlen(before), "before", after, strlen(after), "after", &e);
}

Test(report_diff_threads, more_threads_at_a_place)
{
	json_t *diff = compared(REPORT("20", GROUP("4", "0")), REPORT("80", GROUP("64", "0")));
	cr_assert_not_null(diff);
	cr_assert_str_eq(json_string_value(json_object_get(diff, "headline")), "Changed: 20 threads before, 80 after");
	cr_assert_not_null(strstr(json_string_value(json_object_get(diff, "diagnosis")), "4 threads before and 64 after in Shop.Orders.Reserve"));
	json_decref(diff);
}

Test(report_diff_threads, threads_that_come_and_go_are_no_change)
{
	json_t *diff = compared(REPORT("20", GROUP("4", "0")), REPORT("21", GROUP("3", "0") "," GROUP("9", "null")));
	cr_assert_not_null(diff);
	cr_assert_str_eq(json_string_value(json_object_get(diff, "headline")), "Nothing changed: 20 threads before, 21 after");
	json_decref(diff);
}

Test(report_diff_threads, a_report_that_is_none)
{
	cr_assert_null(compared(REPORT("20", GROUP("4", "7")), REPORT("20", "")));
	cr_assert_null(compared(REPORT("-1", ""), REPORT("20", "")));
	cr_assert_null(compared(REPORT("20", GROUP("\"x\"", "0")), REPORT("20", "")));
}
