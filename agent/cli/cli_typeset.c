#include "agent/cli/cli_typeset.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <string.h>

#define CONTINUED 2 /* spaces before the further lines of a paragraph */

static size_t backticks_at(const char *text, size_t len, size_t at)
{
	size_t n = 0;
	while (at + n < len && text[at + n] == '`')
		n++;
	return n;
}

/* Where as many backticks end the code span whose text begins at `at`; `len`: nowhere. */
static size_t code_end(const char *text, size_t len, size_t at, size_t fence)
{
	while (at < len) {
		size_t n = backticks_at(text, len, at);
		if (n == fence)
			return at;
		at += n ? n : 1;
	}
	return len;
}

/* The text of a code span: of a space at both ends one is the span's. A bar in a cell is escaped in code, too. Gives how many bytes. */
static size_t copy_code(const char *text, size_t len, bool in_cell, char *out)
{
	bool spaced = len > 2 && text[0] == ' ' && text[len - 1] == ' ';
	size_t n = 0;
	for (size_t i = spaced; i < len - spaced; i++)
		if (!(in_cell && text[i] == '\\' && i + 1 < len && text[i + 1] == '|'))
			out[n++] = text[i];
	return n;
}

/* Without Markdown's marks, and printable. */
static char *plain_text(const char *text, size_t len, bool in_cell)
{
	AUTO_FREE char *bare = mem_alloc(len + 1);
	size_t n = 0;
	for (size_t i = 0; i < len; i++) {
		size_t fence = backticks_at(text, len, i), end = fence ? code_end(text, len, i + fence, fence) : len;
		if (end < len) {
			n += copy_code(text + i + fence, end - i - fence, in_cell, bare + n);
			i = end + fence - 1;
		} else if (fence) {
			memset(bare + n, '`', fence);
			n += fence;
			i += fence - 1;
		} else if (text[i] == '*' && i + 1 < len && text[i + 1] == '*') {
			i++;
		} else if (text[i] == '\\' && i + 1 < len) {
			bare[n++] = text[++i];
		} else {
			bare[n++] = text[i];
		}
	}
	AUTO_BUF struct buf out;
	buf_init(&out, 16 * (len + 1));
	text_append_printable(&out, bare, n);
	return buf_steal(&out);
}

/* tables ----------------------------------------------------------------------------------------------------------- */

static size_t split_row(const char *line, size_t len, const char *from[TERM_TABLE_COLUMNS], size_t bytes[TERM_TABLE_COLUMNS])
{
	size_t count = 0, start = 1;
	for (size_t i = 1; i < len && count < TERM_TABLE_COLUMNS; i++) {
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

static void add_table_row(struct term_table *t, const char *line, size_t len)
{
	const char *from[TERM_TABLE_COLUMNS];
	char *cells[TERM_TABLE_COLUMNS];
	size_t bytes[TERM_TABLE_COLUMNS], count = split_row(line, len, from, bytes);
	bool rule = is_rule(line, len);
	for (size_t c = 0; c < count; c++) {
		if (rule)
			t->right[c] = bytes[c] && from[c][bytes[c] - 1] == ':';
		else
			cells[c] = plain_text(from[c], bytes[c], true);
	}
	if (!rule)
		term_table_add_row_take(t, cells, count);
}

/* lines ------------------------------------------------------------------------------------------------------------ */

static void typeset_line(const struct term_page *p, const char *line, size_t len, struct buf *out)
{
	size_t marks = strspn(line, "#");
	bool heading = marks && marks < len && line[marks] == ' ';
	AUTO_FREE char *text = plain_text(line + (heading ? marks + 1 : 0), len - (heading ? marks + 1 : 0), false);
	if (heading)
		term_text_heading(p, text, out);
	else
		term_text_wrapped(p, text, 0, CONTINUED, out);
	buf_putc(out, '\n');
}

void cli_typeset(const struct term_page *p, const char *markdown, struct buf *out)
{
	struct term_table t = {0};
	for (const char *line = markdown; *line;) {
		size_t len = strcspn(line, "\n");
		if (line[0] == '|') {
			add_table_row(&t, line, len);
		} else {
			term_table_put(p, &t, out);
			typeset_line(p, line, len, out);
		}
		line += len + (line[len] == '\n');
	}
	term_table_put(p, &t, out);
}
