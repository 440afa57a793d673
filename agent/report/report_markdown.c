#include "agent/report/report_markdown.h"

#include "agent/symbols/method_name.h"

#include <ctype.h>
#include <string.h>

/* Inside a code span of a table cell: a backtick would end the span, a bar the cell. Two backticks are no span of nothing. */
void report_markdown_code(struct buf *out, const char *text)
{
	if (!*text)
		return;
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

/* What Markdown or HTML would read as markup. `text`: where the running text begins. */
static bool is_markup(const char *text, const char *p)
{
	bool begins_word = is_word(p[1]); /* such a bar can open emphasis, but no other that is left here closes it */
	return strchr("\\`*<~&", *p) || (*p == '[' && strstr(p, "](")) || (*p == '_' && !begins_word) || (p == text && strchr("#>|+-", *p));
}

/* The length of what begins at `word` and ends with the word that closes its angle brackets: a generic type's name may hold spaces. Else of the word.
 * An arrow's bracket is none. */
static size_t name_length(const char *word)
{
	size_t first = strcspn(word, " ");
	int open = 0;
	for (size_t i = 0; word[i]; i++) {
		open += word[i] == '<' ? 1 : word[i] == '>' && (i == 0 || word[i - 1] != '-') ? -1 : 0;
		if ((word[i + 1] == ' ' || !word[i + 1]) && open <= 0)
			return i + 1;
	}
	return first;
}

/* The length of the word at `p`, with the words after it that cannot stand as they are either; 0: this one can. */
static size_t span_length(const char *text, const char *p)
{
	size_t length = 0;
	for (const char *word = p; *word;) {
		size_t n = name_length(word);
		bool any = false;
		for (size_t i = 0; i < n && !any; i++)
			any = is_markup(text, word + i);
		if (!any)
			break;
		length = (size_t)(word - p) + n;
		word += n + strspn(word + n, " ");
	}
	while (length > 1 && strchr(".,:;", p[length - 1]))
		length--;
	return length;
}

/* A code span around what may hold backticks. */
static void put_span(struct buf *out, const char *text, size_t len)
{
	size_t longest = 0, run = 0;
	for (size_t i = 0; i < len; i++) {
		run = text[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	for (size_t i = 0; i <= longest; i++)
		buf_putc(out, '`');
	buf_puts(out, longest ? " " : "");
	buf_append(out, text, len);
	buf_puts(out, longest ? " " : "");
	for (size_t i = 0; i <= longest; i++)
		buf_putc(out, '`');
}

/* Many read it as it stands, so there are no escapes: names that Markdown would take for markup are code. */
void report_markdown_prose(struct buf *out, const char *text)
{
	for (const char *p = text; *p;) {
		size_t span = span_length(text, p), rest = strcspn(p + span, " ");
		if (span)
			put_span(out, p, span);
		size_t spaces = strspn(p + span + rest, " ");
		buf_append(out, p + span, rest + spaces);
		p += span + rest + spaces;
	}
}

void report_markdown_name(struct buf *out, const char *name, size_t max_chars)
{
	AUTO_BUF struct buf b;
	buf_init(&b, METHOD_NAME_SIZE * 4);
	method_name_shorten(name, max_chars, &b);
	report_markdown_code(out, buf_str(&b));
}
