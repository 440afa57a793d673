#include "agent/report/report_file.h"
#include "agent/report/summary.h"

#include <criterion/criterion.h>
#include <string.h>

/* A row for each share, named by a hostile process. */
static double share_of(const void *source, size_t row)
{
	return ((const double *)source)[row];
}

static void put_share_row(const void *source, size_t row, struct buf *out)
{
	summary_percent(out, share_of(source, row));
	summary_bytes_change(out, row % 2 ? -1000 : 1000);
	summary_cell(out);
	summary_name(out, "Evil`|<script>.Run", 80);
}

static const char *made(struct summary s, const double *shares, bool paused)
{
	static struct report_file f;
	const struct report_context context = {.pod_name = "shop-1", .requested_by = "eve|`x`"};
	const struct session_facts facts = {.pid = 42, .cost = {.max_pause_us = paused ? 1500 : 0, .added_cpu_ms = 7, .agent_cpu_ms = 9}};
	const struct report_head head = {.facts = &facts, .context = &context, .headline = "Headline", .text = "Headline\nLine <b>two</b>\nThree"};
	buf_fini(&f.text);
	buf_init(&f.text, 10000);
	s.head = &head;
	s.table.percent = share_of;
	s.table.put = put_share_row;
	summary_write(&s, shares, &f);
	return buf_str(&f.text);
}

static size_t rows_in(const char *text)
{
	size_t count = 0;
	for (const char *at = text; (at = strstr(at, "| `` Evil")); at++)
		count++;
	return count;
}

#define ROW(share, change) "| " share " | " change " |  | `` Evil`\\|<script>.Run `` |\n"

Test(summary, has_the_diagnosis_one_table_and_the_cost)
{
	static const double shares[] = {70, 0.2};
	static const char *const notes[] = {"Not all was seen.", NULL};
	const struct summary s = {.table = {.titles = "#share|#change|what|type", .rows = 2}, .notes = notes, .work = "12 samples",
				  .where = "more is elsewhere"};
	cr_expect_str_eq(made(s, shares, true), "# Headline\n\nLine `<b>two</b>`  \nThree  \n"
						"\n| share | change | what | type |\n|---:|---:|---|---|\n" ROW("70%", "+ 1.0 kB") ROW("0.2%", "- 1.0 kB")
						"\nNot all was seen.\n"
						"\nCost: the application was paused for at most 1.5 ms; 7 ms of CPU in the process, 9 ms in the agent; "
						"12 samples.\n"
						"process 42, pod shop-1, pid 42, requested by `` eve|`x` ``; more is elsewhere.\n");
}

Test(summary, without_rows_there_is_no_table)
{
	const struct summary s = {.table = {.titles = "#share|what"}, .where = "more is elsewhere"};
	cr_expect_str_eq(made(s, NULL, false), "# Headline\n\nLine `<b>two</b>`  \nThree  \n"
					       "\nCost: the application was never paused; 7 ms of CPU in the process, 9 ms in the agent.\n"
					       "process 42, pod shop-1, pid 42, requested by `` eve|`x` ``; more is elsewhere.\n");
}

Test(summary, the_table_ends_where_rows_say_little)
{
	static const struct {
		double shares[10];
		size_t shown;
	} rows[] = {
		{{50, 0.4, 0.3, 0.5, 0.49, 0.4}, 4}, {{50, 0.4, 0}, 2}, {{0}, 0}, {{10, 10, 10, 10, 10, 10, 10, 10, 10, 10}, 8},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct summary s = {.table = {.titles = "#share|#change|what|type", .rows = 10}, .where = "x"};
		const char *text = made(s, rows[i].shares, false);
		cr_expect_eq(rows_in(text), rows[i].shown, "row %zu: %s", i, text);
		cr_expect_eq(strstr(text, "|---") != NULL, rows[i].shown > 0, "row %zu: %s", i, text);
	}
}
