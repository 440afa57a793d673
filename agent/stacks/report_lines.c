#include "agent/stacks/report_lines.h"

#include "agent/report/report_json.h"

#include <string.h>

#define LINES_MAX 16 /* of a method */

/* Files and links are bounded and printable already. */
static void put_source_file(struct json_writer *w, const struct frame *f)
{
	jsonw_string(w, "file", f->file);
	jsonw_string(w, "link", f->link);
}

void report_lines_method(struct report_file *f, const struct cpu_analysis *a, const struct cpu_method *m)
{
	struct json_writer *w = &f->json;
	if (!m->line_count)
		return;
	const struct cpu_line *lines = a->lines + m->first_line;
	const struct frame *first = &a->capture->frames[lines[0].frame];
	jsonw_object(w, "source");
	put_source_file(w, first);
	jsonw_array(w, "lines");
	for (uint32_t i = 0; i < m->line_count && i < LINES_MAX; i++) {
		const struct frame *place = &a->capture->frames[lines[i].frame];
		jsonw_object(w, NULL);
		jsonw_unsigned(w, "line", place->line);
		jsonw_unsigned(w, "self", lines[i].self);
		jsonw_unsigned(w, "total", lines[i].total);
		if (strcmp(place->file, first->file) != 0) /* a method may be of several: #line */
			put_source_file(w, place);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_unsigned(w, "moreLines", m->line_count > LINES_MAX ? m->line_count - LINES_MAX : 0);
	jsonw_end(w);
}

void report_lines_place(struct report_file *f, const struct frame *frame)
{
	report_lines_place_as(f, "place", frame);
}

void report_lines_place_as(struct report_file *f, const char *key, const struct frame *frame)
{
	if (!frame->file)
		return;
	jsonw_object(&f->json, key);
	put_source_file(&f->json, frame);
	jsonw_unsigned(&f->json, "line", frame->line);
	jsonw_end(&f->json);
}

void report_lines_symbols(struct report_file *f, const struct source_account *a)
{
	struct json_writer *w = &f->json;
	if (!a->count)
		return;
	jsonw_line(w);
	jsonw_object(w, "symbols");
	jsonw_number(w, "milliseconds", (double)a->spent_ns / 1e6, 3);
	jsonw_array(w, "modules");
	for (size_t i = 0; i < a->count; i++) {
		report_json_record(f);
		jsonw_string(w, "module", a->items[i].module);
		jsonw_bool(w, "used", !a->items[i].reason);
		report_json_string(f, "reason", a->items[i].reason);
		report_json_end(f);
	}
	jsonw_end(w);
	jsonw_end(w);
}
