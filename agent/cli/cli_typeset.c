#include "agent/cli/cli_typeset.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <string.h>

#define MAX_COLUMNS 8
#define MAX_ROWS 64
#define LEAST_COLUMN 12 /* a column of text is not made narrower than this */
#define GAP 2
#define BOLD "\033[1m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

struct table {
	char *cells[MAX_ROWS][MAX_COLUMNS]; /* the first row holds the titles */
	bool right[MAX_COLUMNS];
	size_t rows, columns;
};

/* Without Markdown's marks, and printable. */
static char *plain_text(const char *text, size_t len)
{
	AUTO_FREE char *bare = mem_alloc(len + 1);
	size_t n = 0;
	bool code = false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '`')
			code = !code;
		else if (text[i] == '\\' && !code && i + 1 < len)
			bare[n++] = text[++i];
		else
			bare[n++] = text[i];
	}
	AUTO_BUF struct buf out;
	buf_init(&out, 16 * (len + 1));
	text_append_printable(&out, bare, n);
	return buf_steal(&out);
}

static bool begins_character(char c)
{
	return ((unsigned char)c & 0xC0) != 0x80;
}

static size_t columns_of(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += begins_character(*text);
	return n;
}

static void put_styled(const struct cli_page *p, struct buf *out, const char *style, const char *text)
{
	buf_printf(out, "%s%s%s", p->colour ? style : "", text, p->colour ? PLAIN : "");
}

/* Wrapped between words; lines after the first stand two columns further right. */
static void put_wrapped(const struct cli_page *p, struct buf *out, const char *text)
{
	size_t column = 0;
	while (*text) {
		size_t bytes = strcspn(text, " "), width = 0;
		for (size_t i = 0; i < bytes; i++)
			width += begins_character(text[i]);
		if (column && column + 1 + width > p->width) {
			buf_puts(out, "\n  ");
			column = 2;
		} else if (column) {
			buf_putc(out, ' ');
			column++;
		}
		buf_append(out, text, bytes);
		column += width;
		text += bytes;
		text += strspn(text, " ");
	}
	buf_putc(out, '\n');
}

/* tables ----------------------------------------------------------------------------------------------------------- */

static size_t split_row(const char *line, size_t len, const char *from[MAX_COLUMNS], size_t bytes[MAX_COLUMNS])
{
	size_t count = 0, start = 1;
	for (size_t i = 1; i < len && count < MAX_COLUMNS; i++) {
		if (line[i] == '\\') {
			i++;
		} else if (line[i] == '|') {
			size_t end = i;
			while (start < end && line[start] == ' ')
				start++;
			while (end > start && line[end - 1] == ' ')
				end--;
			from[count] = line + start;
			bytes[count++] = end - start;
			start = i + 1;
		}
	}
	return count;
}

static bool is_rule(const char *line, size_t len)
{
	return len > 2 && strspn(line, "|-: ") >= len;
}

static void add_row(struct table *t, const char *line, size_t len)
{
	const char *from[MAX_COLUMNS];
	size_t bytes[MAX_COLUMNS], count = split_row(line, len, from, bytes);
	if (is_rule(line, len)) {
		for (size_t c = 0; c < count; c++)
			t->right[c] = bytes[c] && from[c][bytes[c] - 1] == ':';
		return;
	}
	if (t->rows == MAX_ROWS)
		return;
	for (size_t c = 0; c < count; c++)
		t->cells[t->rows][c] = plain_text(from[c], bytes[c]);
	t->columns = count > t->columns ? count : t->columns;
	t->rows++;
}

static const char *cell_at(const struct table *t, size_t row, size_t column)
{
	return t->cells[row][column] ? t->cells[row][column] : "";
}

/* What each column needs; the widest ones of text give way until the row fits. */
static void fit_columns(const struct table *t, size_t width, size_t out[MAX_COLUMNS])
{
	size_t total = 0;
	for (size_t c = 0; c < t->columns; c++) {
		out[c] = 0;
		for (size_t r = 0; r < t->rows; r++) {
			size_t need = columns_of(cell_at(t, r, c));
			out[c] = need > out[c] ? need : out[c];
		}
		total += out[c] + (c ? GAP : 0);
	}
	while (total > width) {
		size_t widest = MAX_COLUMNS;
		for (size_t c = 0; c < t->columns; c++)
			if (!t->right[c] && out[c] > LEAST_COLUMN && (widest == MAX_COLUMNS || out[c] > out[widest]))
				widest = c;
		if (widest == MAX_COLUMNS)
			return;
		out[widest]--;
		total--;
	}
}

/* The end of a name says more than its namespace: what is too long loses its beginning. */
static void put_cell(struct buf *out, const char *text, size_t width, bool right, bool last)
{
	size_t need = columns_of(text), pad = need < width ? width - need : 0;
	for (size_t i = 0; right && i < pad; i++)
		buf_putc(out, ' ');
	if (need > width) {
		for (size_t skip = need - width + 1; skip; skip--)
			for (text++; !begins_character(*text); text++)
				;
		buf_puts(out, "…");
	}
	buf_puts(out, text);
	for (size_t i = 0; !right && !last && i < pad; i++)
		buf_putc(out, ' ');
}

static void put_table(const struct cli_page *p, struct table *t, struct buf *out)
{
	size_t width[MAX_COLUMNS];
	fit_columns(t, p->width, width);
	for (size_t r = 0; r < t->rows; r++) {
		if (p->colour && r == 0)
			buf_puts(out, DIM);
		for (size_t c = 0; c < t->columns; c++) {
			for (size_t i = 0; c && i < GAP; i++)
				buf_putc(out, ' ');
			put_cell(out, cell_at(t, r, c), width[c], t->right[c], c + 1 == t->columns);
		}
		buf_puts(out, p->colour && r == 0 ? PLAIN "\n" : "\n");
	}
	for (size_t i = 0; i < MAX_ROWS * MAX_COLUMNS; i++)
		free(t->cells[i / MAX_COLUMNS][i % MAX_COLUMNS]);
	*t = (struct table){0};
}

/* lines ------------------------------------------------------------------------------------------------------------ */

static void put_line(const struct cli_page *p, const char *line, size_t len, struct buf *out)
{
	size_t marks = strspn(line, "#");
	bool heading = marks && marks < len && line[marks] == ' ';
	AUTO_FREE char *text = plain_text(line + (heading ? marks + 1 : 0), len - (heading ? marks + 1 : 0));
	if (heading) {
		put_styled(p, out, BOLD, text);
		buf_putc(out, '\n');
	} else {
		put_wrapped(p, out, text);
	}
}

void cli_typeset(const struct cli_page *page, const char *markdown, struct buf *out)
{
	struct cli_page p = *page;
	if (p.width < CLI_TYPESET_MIN_WIDTH)
		p.width = CLI_TYPESET_MIN_WIDTH;
	AUTO_FREE struct table *t = mem_calloc(1, sizeof *t);
	for (const char *line = markdown; *line;) {
		size_t len = strcspn(line, "\n");
		if (line[0] == '|') {
			add_row(t, line, len);
		} else {
			if (t->rows)
				put_table(&p, t, out);
			put_line(&p, line, len, out);
		}
		line += len + (line[len] == '\n');
	}
	if (t->rows)
		put_table(&p, t, out);
}
