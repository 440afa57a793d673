/* Two StuckTasks reports: operations that wait, that did not move, and those that will not. */
#include "common/report/report_diff_private.h"

#include <string.h>

#define MOST_OPERATIONS 1e12

static const struct figure {
	const char *path, *name;
	bool counts; /* a difference is a change: how many wait is another at each moment */
} figures[] = {
	{"looks.operations", "operations that wait", false},
	{"looks.lasting", "operations that did not move", false},
	{"measured.queue", "operations behind a semaphore that is not released", true},
	{"measured.reply", "operations without a reply", true},
	{"measured.httpWaiting", "requests that wait for an HTTP connection", true},
	{"measured.faults", "failed tasks that nobody looked at", true},
};
#define FIGURES (sizeof figures / sizeof *figures)

/* What nobody can complete is not measured where not all roots were read; other figures earlier reports did not have. */
static double measured_or_none(const json_t *report, const char *name)
{
	const json_t *n = json_object_get(json_object_get(report, "measured"), name);
	return json_is_number(n) ? json_number_value(n) : 0;
}

static void put_row(const char *name, double first, double second, struct report_diff_out *out)
{
	const char *change = second > first ? "grew" : second < first ? "shrank" : "same";
	json_array_append_new(out->rows, report_diff_row("total", name, "", first, second, change));
}

int report_diff_stucktasks(const json_t *before, const json_t *after, struct report_diff_out *out, struct err *e)
{
	double never_before = measured_or_none(before, "never"), never_after = measured_or_none(after, "never");
	double waited = measured_or_none(before, "databaseWaiting"), waiting = measured_or_none(after, "databaseWaiting");
	for (size_t i = 0; i < FIGURES; i++) {
		double first, second;
		if (report_diff_number(before, figures[i].path, 0, MOST_OPERATIONS, &first, e) < 0)
			return err_prefix(e, "%.200s", out->before_name);
		if (report_diff_number(after, figures[i].path, 0, MOST_OPERATIONS, &second, e) < 0)
			return err_prefix(e, "%.200s", out->after_name);
		out->changed |= figures[i].counts && first != second;
		put_row(figures[i].name, first, second, out);
	}
	out->changed |= never_before != never_after || waited != waiting;
	put_row("requests that wait for a database connection", waited, waiting, out);
	put_row("operations that nobody can complete", never_before, never_after, out);
	if (never_before == 0 && never_after > 0)
		buf_puts(out->lines, "There are operations that nobody can complete, and were not before");
	else if (never_before > 0 && never_after == 0)
		buf_puts(out->lines, "The operations that nobody could complete are gone");
	else
		buf_printf(out->lines, "%s: operations that nobody can complete %.0f before, %.0f after", out->changed ? "Changed" : "Nothing changed",
			   never_before, never_after);
	return 0;
}
