#include "agent/symbols/span.h"

#include <ctype.h>
#include <string.h>

struct span span_of(const char *s)
{
	return (struct span){s ? s : "", s ? strnlen(s, SPAN_MAX_BYTES) : 0};
}

struct span span_sub(struct span a, size_t from, size_t to)
{
	return (struct span){a.s + from, to - from};
}

bool span_equals(struct span a, const char *text)
{
	return a.n == strlen(text) && memcmp(a.s, text, a.n) == 0;
}

bool span_starts(struct span a, const char *text)
{
	return a.n >= strlen(text) && memcmp(a.s, text, strlen(text)) == 0;
}

void span_put(struct buf *out, struct span a)
{
	buf_append(out, a.s, a.n);
}

/* The index after the '>' that closes the '<' at `open`; the end when it is never closed. */
size_t span_after_angle(struct span a, size_t open)
{
	size_t depth = 0;
	for (size_t i = open; i < a.n; i++) {
		if (a.s[i] == '<')
			depth++;
		else if (a.s[i] == '>' && --depth == 0)
			return i + 1;
	}
	return a.n;
}

/* Splits at the commas of the outermost level. */
size_t span_split(struct span list, struct span out[SPAN_MAX_ITEMS])
{
	size_t count = 0, begin = 0, depth = 0;
	for (size_t i = 0; i <= list.n && list.n && count < SPAN_MAX_ITEMS; i++) {
		char c = i < list.n ? list.s[i] : ',';
		if (c == '<' || c == '[' || c == '(')
			depth++;
		else if ((c == '>' || c == ']' || c == ')') && depth)
			depth--;
		else if (c == ',' && (depth == 0 || i == list.n)) {
			out[count++] = span_sub(list, begin, i);
			begin = i + 1;
		}
	}
	return count;
}

/* The end of the next '+' or '.' separated piece (or only '+') that starts at `from`. */
size_t span_piece_end(struct span a, size_t from, bool at_dots)
{
	for (size_t i = from; i < a.n; i++) {
		if (a.s[i] == '<')
			i = span_after_angle(a, i) - 1;
		else if (a.s[i] == '+' || (at_dots && a.s[i] == '.'))
			return i;
	}
	return a.n;
}

/* "List`1" gives "List" and 1. */
struct span span_without_arity(struct span name, size_t *arity)
{
	size_t i = name.n;
	*arity = 0;
	while (i > 0 && isdigit((unsigned char)name.s[i - 1]))
		i--;
	if (i == 0 || i == name.n || name.s[i - 1] != '`')
		return name;
	for (size_t k = i; k < name.n && *arity < SPAN_MAX_ITEMS; k++)
		*arity = *arity * 10 + (size_t)(name.s[k] - '0');
	return span_sub(name, 0, i - 1);
}

/* The inner text of "<...>rest": true, with *inner and *rest, when `name` is such a name. */
bool span_generated(struct span name, struct span *inner, struct span *rest)
{
	if (name.n < 2 || name.s[0] != '<')
		return false;
	size_t end = span_after_angle(name, 0);
	if (name.s[end - 1] != '>')
		return false;
	*inner = span_sub(name, 1, end - 1);
	*rest = span_sub(name, end, name.n);
	return true;
}

struct span span_last_dotted(struct span name)
{
	size_t from = 0;
	for (size_t end; (end = span_piece_end(name, from, true)) < name.n;)
		from = end + 1;
	return span_sub(name, from, name.n);
}
