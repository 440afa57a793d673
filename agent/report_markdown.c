#include "agent/report_markdown.h"

#include "agent/method_name.h"

#include <ctype.h>
#include <string.h>

/* Inside a code span of a table cell: a backtick would end the span, a bar the cell. */
void report_markdown_code(struct buf *out, const char *text)
{
	buf_puts(out, "`");
	for (; *text; text++) {
		if (*text == '`')
			buf_putc(out, '\'');
		else if (*text == '|')
			buf_puts(out, "\\|");
		else
			buf_putc(out, *text);
	}
	buf_puts(out, "`");
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c & 0x80);
}

/* In running text: what Markdown or HTML would read as markup, and no more, for many read it as it stands. */
void report_markdown_prose(struct buf *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		bool begins_word = is_word(p[1]); /* such a bar can open emphasis, but no other that is left here closes it */
		if (strchr("\\`*<~&", *p) || (*p == '[' && strstr(p, "](")) || (*p == '_' && !begins_word) || (p == text && strchr("#>|+-", *p)))
			buf_putc(out, '\\');
		buf_putc(out, *p);
	}
}

void report_markdown_name(struct buf *out, const char *name, size_t max_chars)
{
	AUTO_BUF struct buf b;
	buf_init(&b, METHOD_NAME_SIZE * 4);
	method_name_shorten(name, max_chars, &b);
	report_markdown_code(out, buf_str(&b));
}
