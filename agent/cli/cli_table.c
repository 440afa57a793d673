#include "agent/cli/cli_table.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_COLUMN 12 /* a column of text is not made narrower than this */
#define GAP 2
#define DIM "\033[2m"
#define PLAIN "\033[0m"

static bool begins_character(char c)
{
	return ((unsigned char)c & 0xC0) != 0x80;
}

static size_t columns_of(const char *text, size_t len)
{
	size_t n = 0;
	for (size_t i = 0; i < len; i++)
		n += begins_character(text[i]);
	return n;
}

static size_t width_of(const struct cli_page *p)
{
	return p->width == 0 ? (size_t)-1 : p->width < CLI_PAGE_MIN_WIDTH ? CLI_PAGE_MIN_WIDTH : p->width;
}

static void put_spaces(struct buf *out, size_t count)
{
	for (; count; count--)
		buf_putc(out, ' ');
}

void cli_table_put_wrapped(const struct cli_page *p, const char *text, size_t at, size_t indent, struct buf *out)
{
	size_t column = at;
	while (*text) {
		size_t bytes = strcspn(text, " "), need = columns_of(text, bytes);
		bool first = column == at;
		if (!first && column + 1 + need > width_of(p)) {
			buf_putc(out, '\n');
			put_spaces(out, indent);
			column = indent;
		} else if (!first) {
			buf_putc(out, ' ');
			column++;
		}
		buf_append(out, text, bytes);
		column += need;
		text += bytes;
		text += strspn(text, " ");
	}
}

void cli_table_add_row_take(struct cli_table *t, char *const *cells, size_t count)
{
	GROW(t->cells, t->rows, t->cap);
	for (size_t c = 0; c < CLI_TABLE_COLUMNS; c++)
		t->cells[t->rows][c] = c < count ? cells[c] : NULL;
	t->columns = count > t->columns ? count : t->columns;
	t->rows++;
}

static const char *cell_at(const struct cli_table *t, size_t row, size_t column)
{
	return t->cells[row][column] ? t->cells[row][column] : "";
}

/* What each column needs; the widest ones of text give way until the row fits. */
static void fit_columns(const struct cli_table *t, size_t width, size_t out[CLI_TABLE_COLUMNS])
{
	size_t total = 0;
	for (size_t c = 0; c < t->columns; c++) {
		out[c] = 0;
		for (size_t r = 0; r < t->rows; r++) {
			const char *cell = cell_at(t, r, c);
			size_t need = columns_of(cell, strlen(cell));
			out[c] = need > out[c] ? need : out[c];
		}
		total += out[c] + (c ? GAP : 0);
	}
	while (total > width) {
		size_t widest = CLI_TABLE_COLUMNS;
		for (size_t c = 0; c < t->columns; c++)
			if (!t->right[c] && out[c] > LEAST_COLUMN && (widest == CLI_TABLE_COLUMNS || out[c] > out[widest]))
				widest = c;
		if (widest == CLI_TABLE_COLUMNS)
			return;
		out[widest]--;
		total--;
	}
}

/* The end of a name says more than its namespace: what is too long loses its beginning. */
static void put_cell(struct buf *out, const char *text, size_t width, bool right, bool last)
{
	size_t need = columns_of(text, strlen(text)), pad = need < width ? width - need : 0;
	put_spaces(out, right ? pad : 0);
	if (need > width) {
		for (size_t skip = need - width + 1; skip; skip--)
			for (text++; !begins_character(*text); text++)
				;
		buf_puts(out, "…");
	}
	buf_puts(out, text);
	put_spaces(out, right || last ? 0 : pad);
}

static void put_row(const struct cli_page *p, const struct cli_table *t, size_t row, const size_t *width, struct buf *out)
{
	size_t at = 0;
	for (size_t c = 0; c < t->columns; c++) {
		bool last = c + 1 == t->columns;
		put_spaces(out, c ? GAP : 0);
		at += c ? GAP : 0;
		if (last && t->wrap_last)
			cli_table_put_wrapped(p, cell_at(t, row, c), at, at, out);
		else
			put_cell(out, cell_at(t, row, c), width[c], t->right[c], last);
		at += width[c];
	}
}

void cli_table_put(const struct cli_page *p, struct cli_table *t, struct buf *out)
{
	size_t width[CLI_TABLE_COLUMNS];
	fit_columns(t, width_of(p), width);
	for (size_t r = 0; r < t->rows; r++) {
		buf_puts(out, p->colour && r == 0 ? DIM : "");
		put_row(p, t, r, width, out);
		buf_puts(out, p->colour && r == 0 ? PLAIN "\n" : "\n");
		for (size_t c = 0; c < CLI_TABLE_COLUMNS; c++)
			free(t->cells[r][c]);
	}
	free(t->cells);
	*t = (struct cli_table){0};
}
