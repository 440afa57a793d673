/* Context: any. */
#include "profiler/requests/sql_shape.h"

#include <stdbool.h>
#include <string.h>

#define UNITS_MOST 4096 /* of a command: what comes after is not looked at */
#define NAME_MOST 40

struct sql_scan {
	const struct event_text *sql;
	size_t at, units;
	char *out;
	uint16_t len;
	bool full;
};

static unsigned sql_at(const struct sql_scan *s, size_t at)
{
	return at < s->units ? s->sql->data[2 * at] | (unsigned)s->sql->data[2 * at + 1] << 8 : 0;
}

static bool is_name_start(unsigned c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_number(unsigned c)
{
	return c >= '0' && c <= '9';
}

static void sql_put(struct sql_scan *s, char c)
{
	char last = s->len ? s->out[s->len - 1] : ' ';

	if (c == ' ' && last == ' ')
		return;
	if (s->len == SQL_SHAPE_BYTES)
		s->full = true;
	else
		s->out[s->len++] = c;
}

/* "?, ?, ?" is as good as "?". */
static void sql_put_value(struct sql_scan *s)
{
	size_t n = s->len;

	while (n && (s->out[n - 1] == ' ' || s->out[n - 1] == ','))
		n--;
	if (n && s->out[n - 1] == '?')
		s->len = (uint16_t)n;
	else
		sql_put(s, '?');
}

/* Up to the closing quote, which doubled is none; a backslash may hide one, and then the text ends later, never earlier. */
static void skip_quoted(struct sql_scan *s, unsigned quote, bool backslashes)
{
	for (s->at++; s->at < s->units; s->at++) {
		unsigned c = sql_at(s, s->at);
		if (backslashes && c == '\\') {
			s->at++;
		} else if (c == quote) {
			if (sql_at(s, s->at + 1) != quote)
				break;
			s->at++;
		}
	}
	s->at++;
}

/* A name in quotes stays where it is a plain word. */
static void take_quoted_name(struct sql_scan *s, unsigned end)
{
	size_t from = s->at + 1, to = from;

	while (to < s->units && (is_name_start(sql_at(s, to)) || is_number(sql_at(s, to))))
		to++;
	if (sql_at(s, to) != end || to - from > NAME_MOST || is_number(sql_at(s, from))) {
		if (end == ']')
			while (s->at < s->units && sql_at(s, s->at++) != ']')
				;
		else
			skip_quoted(s, end, false);
		sql_put(s, '?');
		return;
	}
	for (; from < to; from++)
		sql_put(s, (char)sql_at(s, from));
	s->at = to + 1;
}

static void take_name(struct sql_scan *s)
{
	size_t from = s->at, len;
	unsigned c;

	while (c = sql_at(s, s->at), is_name_start(c) || is_number(c))
		s->at++;
	len = s->at - from;
	if (sql_at(s, s->at) == '\'' && len <= 2) { /* a literal's prefix: E'', N'', U& is none */
		skip_quoted(s, '\'', true);
		sql_put_value(s);
		return;
	}
	if (len > NAME_MOST) {
		sql_put(s, '?');
		return;
	}
	for (size_t i = from; i < s->at; i++)
		sql_put(s, (char)sql_at(s, i));
}

static void skip_number(struct sql_scan *s)
{
	unsigned c;

	while (c = sql_at(s, s->at), is_number(c) || is_name_start(c) || c == '.')
		s->at++;
	sql_put_value(s);
}

static bool skip_comment(struct sql_scan *s)
{
	unsigned c = sql_at(s, s->at), next = sql_at(s, s->at + 1);

	if (c == '-' && next == '-') {
		while (s->at < s->units && sql_at(s, s->at) != '\n')
			s->at++;
		return true;
	}
	if (c != '/' || next != '*')
		return false;
	for (s->at += 2; s->at < s->units && !(sql_at(s, s->at) == '*' && sql_at(s, s->at + 1) == '/'); s->at++)
		;
	s->at += 2;
	return true;
}

/* What stands between dollars is a text of its own language: all that comes after it is left out. */
static bool is_dollar_quote(const struct sql_scan *s)
{
	return sql_at(s, s->at) == '$' && (sql_at(s, s->at + 1) == '$' || is_name_start(sql_at(s, s->at + 1)));
}

uint16_t sql_shape_make(const struct event_text *sql, char out[SQL_SHAPE_BYTES])
{
	struct sql_scan s = {.sql = sql, .units = sql->units < UNITS_MOST ? sql->units : UNITS_MOST, .out = out};

	while (s.at < s.units && !s.full) {
		unsigned c = sql_at(&s, s.at);
		if (is_dollar_quote(&s)) {
			sql_put_value(&s);
			break;
		}
		if (c == '\'') {
			skip_quoted(&s, c, false);
			sql_put_value(&s);
		} else if (c == '"' || c == '`') {
			take_quoted_name(&s, c);
		} else if (c == '[') {
			take_quoted_name(&s, ']');
		} else if (is_name_start(c)) {
			take_name(&s);
		} else if (is_number(c)) {
			skip_number(&s);
		} else if (!skip_comment(&s)) {
			sql_put(&s, c > ' ' && c < 127 ? (char)c : ' ');
			s.at++;
		}
	}
	while (s.len && s.out[s.len - 1] == ' ')
		s.len--;
	return s.len;
}
