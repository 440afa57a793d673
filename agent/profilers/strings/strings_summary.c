#include "agent/profilers/strings/strings_phrase.h"
#include "agent/profilers/strings/strings_report.h"
#include "agent/report/summary.h"

#define NAME_CHARS 80
#define PATH_CHARS 100

static double string_holder_wastes(const void *source, size_t row)
{
	return strings_analysis_holder(((const struct strings_source *)source)->analysis, row)->wasted_bytes ? 100 : 0;
}

static void put_string_holder_row(const void *source, size_t row, struct buf *out)
{
	const struct string_holder *h = strings_analysis_holder(((const struct strings_source *)source)->analysis, row);
	summary_bytes(out, h->wasted_bytes);
	summary_count(out, h->strings);
	summary_cell(out);
	buf_printf(out, "%zu%s", h->value_count, h->many ? "+" : "");
	summary_name(out, h->name, NAME_CHARS);
	if (h->held_by)
		summary_name(out, h->held_by, PATH_CHARS);
	else
		summary_cell(out);
	summary_text(out, string_remedy_name(h->remedy));
}

static void put_string_value_row(const void *source, size_t row, struct buf *out)
{
	const struct strings_analysis *a = ((const struct strings_source *)source)->analysis;
	const struct strings_value *v = &a->list[row];
	summary_bytes(out, strings_value_wasted(v));
	summary_count(out, v->count);
	summary_cell(out);
	strings_phrase_value(out, v);
	buf_printf(out, " (%s)", v->id);
	summary_code(out, v->start ? v->start : "");
	if (v->holder_count)
		summary_name(out, a->holders.items[v->holders[0].holder].name, NAME_CHARS);
	else
		summary_cell(out);
}

/* Who asked for the contents reads values; others can act on the holders only. */
void strings_summary_write(const void *source, struct report_file *f)
{
	const struct strings_source *s = source;
	const char *const notes[] = {strings_report_shown(s->analysis), NULL};
	struct summary summary = {.head = &s->head, .work = "one heap walk", .where = "the tables are in report.html"};
	if (s->analysis->copies) {
		summary.notes = notes;
		summary.table = (struct summary_table){"#wasted|#strings|#values|holder|held by|remedy", s->analysis->holders.count, string_holder_wastes,
						       put_string_holder_row};
		if (s->analysis->revealed)
			summary.table = (struct summary_table){"#wasted|#strings|value|starts with|holder", s->analysis->list_count, NULL,
							       put_string_value_row};
	}
	summary_write(&summary, source, f);
}
