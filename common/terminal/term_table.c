#include "common/terminal/term_table.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_COLUMN 12 /* a column of text is not made narrower than this */
#define GAP 2
#define DIM "\033[2m"
#define PLAIN "\033[0m"

void term_table_add_row_take(struct term_table *t, char *const *cells, size_t count)
{
	GROW(t->cells, t->rows, t->cap);
	for (size_t c = 0; c < TERM_TABLE_COLUMNS; c++)
		t->cells[t->rows][c] = c < count ? cells[c] : NULL;
	t->columns = count > t->columns ? count : t->columns;
	t->rows++;
}

static const char *cell_at(const struct term_table *t, size_t row, size_t column)
{
	return t->cells[row][column] ? t->cells[row][column] : "";
}

/* What each column needs; the widest ones of text give way until the row fits. */
static void fit_columns(const struct term_table *t, size_t width, size_t out[TERM_TABLE_COLUMNS])
{
	size_t total = 0;
	for (size_t c = 0; c < t->columns; c++) {
		out[c] = 0;
		for (size_t r = 0; r < t->rows; r++) {
			const char *cell = cell_at(t, r, c);
			size_t need = term_text_columns(cell, strlen(cell));
			out[c] = need > out[c] ? need : out[c];
		}
		total += out[c] + (c ? GAP : 0);
	}
	while (total > width) {
		size_t widest = TERM_TABLE_COLUMNS;
		for (size_t c = 0; c < t->columns; c++)
			if (!t->right[c] && out[c] > LEAST_COLUMN && (widest == TERM_TABLE_COLUMNS || out[c] > out[widest]))
				widest = c;
		if (widest == TERM_TABLE_COLUMNS)
			return;
		out[widest]--;
		total--;
	}
}

/* The end of a name says more than its namespace: what is too long loses its beginning. */
static void put_cell(struct buf *out, const char *text, size_t width, bool right, bool last)
{
	size_t need = term_text_columns(text, strlen(text)), pad = need < width ? width - need : 0;
	term_text_spaces(out, right ? pad : 0);
	if (need > width) {
		for (size_t skip = need - width + 1; skip; skip--)
			for (text++; !term_text_begins_character(*text); text++)
				;
		buf_puts(out, "…");
	}
	buf_puts(out, text);
	term_text_spaces(out, right || last ? 0 : pad);
}

static void put_row(const struct term_page *p, const struct term_table *t, size_t row, const size_t *width, struct buf *out)
{
	size_t at = 0;
	for (size_t c = 0; c < t->columns; c++) {
		bool last = c + 1 == t->columns;
		term_text_spaces(out, c ? GAP : 0);
		at += c ? GAP : 0;
		if (last && t->wrap_last)
			term_text_wrapped(p, cell_at(t, row, c), at, at, out);
		else
			put_cell(out, cell_at(t, row, c), width[c], t->right[c], last);
		at += width[c];
	}
}

void term_table_put(const struct term_page *p, struct term_table *t, struct buf *out)
{
	size_t width[TERM_TABLE_COLUMNS];
	fit_columns(t, term_page_width(p), width);
	for (size_t r = 0; r < t->rows; r++) {
		buf_puts(out, p->colour && r == 0 ? DIM : "");
		put_row(p, t, r, width, out);
		buf_puts(out, p->colour && r == 0 ? PLAIN "\n" : "\n");
		for (size_t c = 0; c < TERM_TABLE_COLUMNS; c++)
			free(t->cells[r][c]);
	}
	free(t->cells);
	*t = (struct term_table){0};
}
