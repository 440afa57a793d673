#include "agent/report/report_file.h"
#include "agent/report/report_markdown.h"
#include "common/base/size_text.h"
#include "agent/profilers/strings/strings_phrase.h"
#include "agent/profilers/strings/strings_report.h"

#define HOLDERS 8
#define VALUES 8
#define NAME_CHARS 80
#define PATH_CHARS 100

static void put_string_holders_table(const struct strings_analysis *a, struct buf *out)
{
	buf_puts(out, "\n| wasted | strings | values | holder | held by | remedy |\n|---:|---:|---:|---|---|---|\n");
	for (size_t i = 0; i < a->holders.count && i < HOLDERS; i++) {
		const struct string_holder *h = strings_analysis_holder(a, i);
		if (h->wasted_bytes == 0)
			break;
		buf_puts(out, "| ");
		size_text_bytes(out, h->wasted_bytes);
		buf_puts(out, " | ");
		size_text_count(out, h->strings);
		buf_printf(out, " | %zu%s | ", h->value_count, h->many ? "+" : "");
		report_markdown_name(out, h->name, NAME_CHARS);
		buf_puts(out, " | ");
		if (h->held_by)
			report_markdown_name(out, h->held_by, PATH_CHARS);
		buf_printf(out, " | %s |\n", string_remedy_name(h->remedy));
	}
}

static void put_string_values_table(const struct strings_analysis *a, struct buf *out)
{
	buf_printf(out, "\n| wasted | strings | value |%s holder |\n|---:|---:|---|%s---|\n", a->revealed ? " starts with |" : "",
		   a->revealed ? "---|" : "");
	for (size_t i = 0; i < a->list_count && i < VALUES; i++) {
		const struct strings_value *v = &a->list[i];
		buf_puts(out, "| ");
		size_text_bytes(out, strings_value_wasted(v));
		buf_puts(out, " | ");
		size_text_count(out, v->count);
		buf_puts(out, " | ");
		strings_phrase_value(out, v);
		buf_printf(out, " (%s) | ", v->id);
		if (a->revealed) {
			report_markdown_code(out, v->start ? v->start : "");
			buf_puts(out, " | ");
		}
		if (v->holder_count)
			report_markdown_name(out, a->holders.items[v->holders[0].holder].name, NAME_CHARS);
		buf_puts(out, " |\n");
	}
}

void strings_summary_write(const void *source, struct report_file *f)
{
	const struct strings_source *s = source;
	report_head_summary_begin(&s->head, f);
	if (s->analysis->copies) {
		put_string_holders_table(s->analysis, &f->text);
		put_string_values_table(s->analysis, &f->text);
		buf_printf(&f->text, "\n%s\n", strings_report_shown(s->analysis));
	}
	report_head_summary_end(&s->head, "; one heap walk", "the tables are in report.html", f);
}
