#include "controller/kubectl/plugin_print.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "controller/kubectl/plugin_options.h"

#include <ctype.h>
#include <string.h>

#define LINE_MAX_BYTES 8192
#define CELL_MAX_BYTES 400
#define GAP 3

static size_t count_chars(const char *s)
{
	size_t count = 0;
	for (; *s; s++)
		count += ((unsigned char)*s & 0xC0) != 0x80;
	return count;
}

static void print_line(const char *before, const char *message, const char *remedy)
{
	AUTO_BUF struct buf line;
	buf_init(&line, LINE_MAX_BYTES * 4);
	text_append_printable(&line, message, strlen(message));
	size_t len = line.len;
	bool ended = len && strchr(".!?", line.data[len - 1]);
	bool said = remedy && strstr(message, remedy);
	fprintf(stderr, "kubectl drdotnet: %s%s%s%s\n", before, buf_str(&line), !remedy || said ? "" : ended ? " " : ". ", !remedy || said ? "" : remedy);
}

void plugin_print_error(const struct err *e)
{
	print_line("", e->message, e->reason ? reason_remedy(e->reason) : NULL);
}

int plugin_print_failure(const char *name, const char *reason, const char *message)
{
	AUTO_FREE char *before = mem_printf("%s: %.60s: ", name, reason_intern(reason) ? reason : "failed");
	print_line(before, message, reason_remedy(reason));
	return PLUGIN_FAILED;
}

int plugin_print_json(const json_t *value, FILE *out)
{
	AUTO_FREE char *text = json_dumps(value, JSON_INDENT(2));
	bool good = text && fputs(text, out) >= 0 && fputc('\n', out) != EOF && fflush(out) == 0;
	return good ? PLUGIN_OK : PLUGIN_FAILED;
}

static void put_table_row(const char *const *cells, size_t columns, const size_t *widths, struct buf *out)
{
	for (size_t i = 0; i < columns; i++) {
		buf_puts(out, cells[i]);
		if (i + 1 < columns)
			buf_printf(out, "%*s", (int)(widths[i] - count_chars(cells[i]) + GAP), "");
	}
	buf_putc(out, '\n');
}

static void widen(const char *const *cells, size_t columns, size_t *widths)
{
	for (size_t i = 0; i < columns; i++) {
		size_t n = count_chars(cells[i]);
		widths[i] = n > widths[i] ? n : widths[i];
	}
}

void plugin_print_table(const char *const *heads, size_t columns, const char *const *cells, size_t row_count, size_t *widths, struct buf *out)
{
	AUTO_FREE size_t *own = mem_calloc(columns, sizeof *own);
	size_t *w = widths ? widths : own;
	if (heads)
		widen(heads, columns, w);
	for (size_t i = 0; i < row_count; i++)
		widen(cells + i * columns, columns, w);
	if (heads)
		put_table_row(heads, columns, w, out);
	for (size_t i = 0; i < row_count; i++)
		put_table_row(cells + i * columns, columns, w, out);
}

/* API tables ------------------------------------------------------------------------------------------------------- */

struct api_table {
	size_t places[PLUGIN_COLUMNS]; /* of the shown columns in a row's cells */
	size_t columns;                /* with the namespace's */
	bool namespaces;
	char **cells;                  /* owned */
	size_t count, cap;
};

static void add_cell_take(struct api_table *t, char *cell)
{
	GROW(t->cells, t->count, t->cap);
	t->cells[t->count++] = cell;
}

static char *printable_cell(const char *s)
{
	AUTO_BUF struct buf text;
	buf_init(&text, CELL_MAX_BYTES * 8);
	text_append_printable(&text, s, text_cut_utf8(s, CELL_MAX_BYTES));
	return mem_strdup(buf_str(&text));
}

static char *json_cell_text(const json_t *cell)
{
	if (json_is_string(cell))
		return printable_cell(json_string_value(cell));
	if (json_is_integer(cell))
		return mem_printf("%lld", (long long)json_integer_value(cell));
	if (json_is_real(cell))
		return mem_printf("%g", json_real_value(cell));
	return mem_strdup(json_is_boolean(cell) ? (json_is_true(cell) ? "true" : "false") : "");
}

static void add_heads(struct api_table *t, const json_t *table, bool wide)
{
	size_t i, shown_columns = 0;
	json_t *column;
	if (t->namespaces)
		add_cell_take(t, mem_strdup("NAMESPACE"));
	json_array_foreach(jsonx_at(table, "columnDefinitions"), i, column) {
		if ((!wide && jsonx_int_at(column, "priority", 0) > 0) || shown_columns + t->namespaces == PLUGIN_COLUMNS)
			continue;
		t->places[shown_columns++] = i;
		char *name = printable_cell(jsonx_str_at(column, "name", ""));
		for (char *c = name; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		add_cell_take(t, name);
	}
	t->columns = shown_columns + t->namespaces;
}

static void add_api_rows(struct api_table *t, const json_t *table)
{
	size_t i;
	json_t *row;
	json_array_foreach(jsonx_at(table, "rows"), i, row) {
		if (t->namespaces)
			add_cell_take(t, printable_cell(jsonx_str_at(row, "object.metadata.namespace", "")));
		for (size_t k = 0; k < t->columns - t->namespaces; k++)
			add_cell_take(t, json_cell_text(json_array_get(jsonx_at(row, "cells"), t->places[k])));
	}
}

void plugin_print_api_table(const json_t *table, bool wide, bool namespaces, bool heads, size_t *widths, struct buf *out)
{
	struct api_table t = {.namespaces = namespaces};
	add_heads(&t, table, wide);
	add_api_rows(&t, table);
	const char *const *cells = (const char *const *)t.cells;
	if (t.columns)
		plugin_print_table(heads ? cells : NULL, t.columns, cells + t.columns, t.count / t.columns - 1, widths, out);
	for (size_t i = 0; i < t.count; i++)
		free(t.cells[i]);
	free(t.cells);
}
