/* Two Deadlocks reports: threads that are in a circle, that wait for a lock, and the longest queue. */
#include "common/report/report_diff_private.h"

#define MOST_THREADS 1e6

static const struct figure {
	const char *path, *name;
} figures[] = {
	{"measured.circles", "circles of threads that wait for each other"},
	{"measured.lasting", "threads that wait for one monitor all the time"},
	{"measured.queue", "threads behind one that holds a lock"},
};
#define FIGURES (sizeof figures / sizeof *figures)

static void put_deadlock_headline(const double *before, const double *after, struct report_diff_out *out)
{
	if (before[0] == 0 && after[0] > 0)
		buf_puts(out->lines, "There is a deadlock that was not there before");
	else if (before[0] > 0 && after[0] == 0)
		buf_puts(out->lines, "The deadlock is gone");
	else
		buf_printf(out->lines, "%s: threads that wait all the time %.0f before, %.0f after", out->changed ? "Changed" : "Nothing changed", before[1],
			   after[1]);
}

int report_diff_deadlocks(const json_t *before, const json_t *after, struct report_diff_out *out, struct err *e)
{
	double first[FIGURES], second[FIGURES];
	for (size_t i = 0; i < FIGURES; i++) {
		if (report_diff_number(before, figures[i].path, 0, MOST_THREADS, &first[i], e) < 0)
			return err_prefix(e, "%.200s", out->before_name);
		if (report_diff_number(after, figures[i].path, 0, MOST_THREADS, &second[i], e) < 0)
			return err_prefix(e, "%.200s", out->after_name);
		out->changed |= first[i] != second[i];
		const char *change = second[i] > first[i] ? "grew" : second[i] < first[i] ? "shrank" : "same";
		json_array_append_new(out->rows, report_diff_row("total", figures[i].name, "", first[i], second[i], change));
	}
	put_deadlock_headline(first, second, out);
	return 0;
}
