#include "agent/report/report_markdown.h"

#include "agent/symbols/method_name.h"

#include <ctype.h>
#include <string.h>

/* A code span around what may hold backticks: more of them than stand together in it begin and end it, with a space that is no part of it (CommonMark 0.31,
 * "Code spans"). Two backticks are no span of nothing. In a cell a bar would end the cell, inside a span too. */
static void put_span(struct buf *out, const char *text, size_t len, bool in_cell)
{
	size_t longest = 0, run = 0;
	for (size_t i = 0; i < len; i++) {
		run = text[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	for (size_t i = 0; len && i <= longest; i++)
		buf_putc(out, '`');
	buf_puts(out, longest ? " " : "");
	for (size_t i = 0; i < len; i++) {
		buf_puts(out, in_cell && text[i] == '|' ? "\\" : "");
		buf_putc(out, text[i]);
	}
	buf_puts(out, longest ? " " : "");
	for (size_t i = 0; len && i <= longest; i++)
		buf_putc(out, '`');
}

void report_markdown_code(struct buf *out, const char *text)
{
	put_span(out, text, strlen(text), true);
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

/* The length of what begins at `word` and ends with the word that closes its angle brackets: a generic type's name may hold spaces, as that of one without
 * a name does. Else of the word. An arrow's bracket is none. */
static size_t name_length(const char *word)
{
	static const char nameless[] = "(anonymous type)";
	size_t begins = strncmp(word, nameless, sizeof nameless - 1) == 0 ? sizeof nameless - 1 : 0;
	size_t first = begins + strcspn(word + begins, " ");
	int open = 0;
	for (size_t i = begins ? begins - 1 : 0; word[i]; i++) {
		open += word[i] == '<' ? 1 : word[i] == '>' && (i == 0 || word[i - 1] != '-') ? -1 : 0;
		if ((word[i + 1] == ' ' || !word[i + 1]) && open <= 0)
			return i + 1;
	}
	return first;
}

/* Whether the last character is the sentence's, not the name's: a mark, or the end of a remark in brackets. */
static bool is_of_sentence(const char *p, size_t length)
{
	int open = 0;
	for (size_t i = 0; i < length; i++)
		open += p[i] == '(' ? 1 : p[i] == ')' ? -1 : 0;
	return strchr(".,:;", p[length - 1]) || (p[length - 1] == ')' && open < 0);
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
	while (length > 1 && is_of_sentence(p, length))
		length--;
	return length;
}

/* Many read it as it stands, so there are no escapes: names that Markdown would take for markup are code. */
void report_markdown_prose(struct buf *out, const char *text)
{
	for (const char *p = text; *p;) {
		size_t span = span_length(text, p), rest = strcspn(p + span, " ");
		if (span)
			put_span(out, p, span, false);
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
