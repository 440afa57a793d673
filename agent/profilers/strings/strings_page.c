#include "agent/report/phrase.h"
#include "agent/report/report_file.h"
#include "agent/report/report_page.h"
#include "common/base/size_text.h"
#include "agent/profilers/strings/strings_phrase.h"
#include "agent/profilers/strings/strings_report.h"

#include <inttypes.h>

#define HOLDERS_LISTED 500

/* A cell that is sorted by its number. */
static void put_bytes_cell(struct buf *out, uint64_t bytes)
{
	buf_printf(out, "<td class=\"n\" data-v=\"%" PRIu64 "\">", bytes);
	size_text_bytes(out, bytes);
	buf_puts(out, "</td>");
}

static void put_count_cell(struct buf *out, uint64_t count)
{
	buf_printf(out, "<td class=\"n\" data-v=\"%" PRIu64 "\">", count);
	size_text_count(out, count);
	buf_puts(out, "</td>");
}

static void put_text_cell(struct buf *out, const char *class, const char *shown)
{
	buf_printf(out, "<td class=\"%s\">", class);
	report_page_text(out, shown ? shown : "");
	buf_puts(out, "</td>");
}

static void open_fact(struct buf *out, const char *key, bool warn)
{
	buf_printf(out, "<div class=\"fact%s\"><div class=\"k\">%s</div><div class=\"v\">", warn ? " warn" : "", key);
}

static void put_percent_of(struct buf *out, double percent, const char *of)
{
	buf_puts(out, "</div><div class=\"k\">");
	phrase_percent(out, percent);
	buf_printf(out, " of %s</div></div>\n", of);
}

static void put_facts(const void *source, struct report_file *f)
{
	const struct strings_source *s = source;
	const struct strings_analysis *a = s->analysis;
	struct buf *out = &f->text;
	open_fact(out, "Wasted on copies", s->diagnosis->finding != STRINGS_NONE);
	size_text_bytes(out, a->wasted_bytes);
	put_percent_of(out, strings_phrase_percent_of(a->wasted_bytes, a->heap_bytes), "the heap");
	open_fact(out, "Strings", false);
	size_text_count(out, a->strings);
	buf_puts(out, " <small>");
	size_text_bytes(out, a->bytes);
	buf_puts(out, "</small>");
	put_percent_of(out, strings_phrase_percent_of(a->bytes, a->heap_bytes), "the heap");
	open_fact(out, "Copies", false);
	size_text_count(out, a->copies);
	put_percent_of(out, strings_phrase_percent_of(a->copies, a->strings), "all strings");
	open_fact(out, "Different values", false);
	size_text_count(out, a->values);
	buf_puts(out, "</div><div class=\"k\">");
	size_text_count(out, a->duplicated_values);
	buf_puts(out, " of them more than once</div></div>\n");
	open_fact(out, "Application paused", false);
	report_head_pause(s->head.facts, out);
	buf_puts(out, "</div><div class=\"k\">once, for the walk over the heap</div></div>");
}

static void put_holders(const void *source, struct report_file *f)
{
	const struct strings_analysis *a = ((const struct strings_source *)source)->analysis;
	struct buf *out = &f->text;
	if (a->holders.count == 0)
		buf_puts(out, "<tr><td class=\"n\" colspan=\"7\">No object holds a string that has a copy.</td></tr>\n");
	for (size_t i = 0; i < a->holders.count && i < HOLDERS_LISTED; i++) {
		const struct string_holder *h = strings_analysis_holder(a, i);
		buf_puts(out, "<tr>");
		put_bytes_cell(out, h->wasted_bytes);
		put_count_cell(out, h->strings);
		put_count_cell(out, h->copies);
		buf_printf(out, "<td class=\"n\" data-v=\"%zu\">%zu%s</td>", h->value_count + h->many, h->value_count, h->many ? "+" : "");
		put_text_cell(out, "name", h->name);
		put_text_cell(out, "name", h->held_by);
		buf_printf(out, "<td title=\"%s\">%s</td></tr>\n", string_remedy_words(h->remedy), string_remedy_name(h->remedy));
		report_file_flow(f);
	}
}

static void put_value(const struct strings_analysis *a, const struct strings_value *v, struct buf *out)
{
	buf_puts(out, "<tr>");
	put_bytes_cell(out, strings_value_wasted(v));
	put_count_cell(out, v->count);
	put_bytes_cell(out, v->size_bytes);
	put_count_cell(out, v->chars);
	buf_puts(out, "<td>");
	strings_phrase_kinds(out, v);
	buf_printf(out, "</td><td>%s</td>", v->id);
	if (a->revealed)
		put_text_cell(out, "name", v->start);
	put_text_cell(out, "name", v->holder_count ? a->holders.items[v->holders[0].holder].name : "");
	buf_printf(out, "<td title=\"%s\">%s</td></tr>\n", string_remedy_words(v->remedy), string_remedy_name(v->remedy));
}

static void put_values(const void *source, struct report_file *f)
{
	const struct strings_analysis *a = ((const struct strings_source *)source)->analysis;
	if (a->list_count == 0)
		buf_puts(&f->text, "<tr><td class=\"n\" colspan=\"8\">No two strings are equal.</td></tr>\n");
	for (size_t i = 0; i < a->list_count; i++) {
		put_value(a, &a->list[i], &f->text);
		report_file_flow(f);
	}
}

static void put_start_heading(const void *source, struct report_file *f)
{
	if (((const struct strings_source *)source)->analysis->revealed)
		buf_puts(&f->text, "<th scope=\"col\" data-by=\"t\">Starts with</th>");
}

static void put_generations(const void *source, struct report_file *f)
{
	const struct strings_analysis *a = ((const struct strings_source *)source)->analysis;
	for (int g = 0; g < HEAP_GENERATIONS; g++) {
		if (!a->generation[g].strings)
			continue;
		buf_printf(&f->text, "<tr><td>%s</td>", heap_generation_name((enum heap_generation)g));
		put_count_cell(&f->text, a->generation[g].strings);
		put_bytes_cell(&f->text, a->generation[g].bytes);
		put_count_cell(&f->text, a->generation[g].copies);
		put_bytes_cell(&f->text, a->generation[g].wasted_bytes);
		buf_puts(&f->text, "</tr>\n");
	}
}

static void put_about(const void *source, struct report_file *f)
{
	const struct strings_source *s = source;
	const struct strings_analysis *a = s->analysis;
	struct buf *out = &f->text;
	buf_puts(out, "<p>The application was stopped once; each string on the heap was counted, reachable or not. Of equal strings one is to be "
		      "kept, each other is a copy, and its bytes (the object&#39;s real size) are wasted. A string with several holders belongs to "
		      "the first one met, so the sums add up.</p><p>");
	report_page_text(out, strings_report_shown(a));
	buf_puts(out, "</p><dl>\n");
	report_page_row(out, "Objects on the heap", "%" PRIu64, a->heap_objects);
	report_page_row(out, "Stopped for the walk", "%.1f ms", (double)strings_report_stop_us(a) / 1000);
	report_page_row(out, "Strings with copies that no object refers to", "%" PRIu64 " (%" PRIu64 " bytes wasted)", a->unheld.strings,
			a->unheld.wasted_bytes);
	if (a->duplicated_values > a->list_count)
		report_page_row(out, "Values left out", "%" PRIu64, a->duplicated_values - a->list_count);
	if (a->holders.count > HOLDERS_LISTED)
		report_page_row(out, "Holders left out", "%zu", a->holders.count - HOLDERS_LISTED);
	report_page_cost_rows(&s->head, out);
	buf_puts(out, "</dl>");
}

static void put_data(const void *source, struct report_file *f)
{
	(void)source;
	buf_puts(&f->text, "{}");
}

void strings_page_write(const void *source, struct report_file *f)
{
	static const struct report_hole holes[] = {
		{"facts", put_facts}, {"holders", put_holders},         {"values", put_values}, {"starts", put_start_heading},
		{"generations", put_generations}, {"about", put_about}, {"data", put_data},
	};
	const struct strings_source *s = source;
	const struct report_page page = {
		.head = &s->head,
		.eyebrow = "Duplicated strings",
		.content = report_asset_strings(),
		.holes = holes,
		.hole_count = sizeof holes / sizeof holes[0],
		.footer = "The same for programs: report.json.",
	};
	report_page_write(&page, source, f);
}
