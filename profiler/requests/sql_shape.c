/* Context: any. Sources: the lexical rules in the manuals of PostgreSQL 17, MySQL 9 and SQL Server 2022, and SQLite's tokenize.c and resolve.c. */
#include "profiler/requests/sql_shape.h"

#include "common/proto/difference.h"

#include <stdbool.h>
#include <string.h>

#define UNITS_MOST 4096 /* of a command: what comes after is not looked at */
#define NAME_MOST 40
#define DIGITS_MOST 4 /* of a name: "iso8601"; with more of them it is a value, such as that of a table for a day or a tenant */

enum sql_before { /* what stands before a token, where that says what the token is */
	BEFORE_NOTHING,
	BEFORE_DISTINCT,
	BEFORE_NAME, /* a word after which only a name can come: FROM, AS */
};
enum sql_statement { STATEMENT_BEGINS, STATEMENT_SETS, STATEMENT_RUNS, STATEMENT_OTHER };

struct sql_scan {
	const struct event_text *sql;
	enum sql_dialect dialect;
	size_t at, units;
	char *out;
	uint16_t len;
	enum sql_before before;
	enum sql_statement statement;
	bool bare;    /* words without quotes are values here, until the statement ends */
	bool no_names; /* in double quotes, from here on: QUOTED_IDENTIFIER may be off */
	bool ended;   /* it is full, or cannot be told apart from here on */
};

static unsigned sql_at(const struct sql_scan *s, size_t at)
{
	return at < s->units ? s->sql->data[2 * at] | (unsigned)s->sql->data[2 * at + 1] << 8 : 0;
}

static bool is_number(unsigned c)
{
	return c >= '0' && c <= '9';
}

/* Letters of other alphabets, too. */
static bool is_name_start(unsigned c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 128;
}

static bool is_name_char(const struct sql_scan *s, unsigned c)
{
	return is_name_start(c) || is_number(c) || (c == '$' && s->dialect != SQL_OF_ANY);
}

static void sql_put(struct sql_scan *s, char c)
{
	char last = s->len ? s->out[s->len - 1] : ' ';

	if (c == ' ' && last == ' ')
		return;
	if (s->len == SQL_SHAPE_BYTES)
		s->ended = true;
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

/* Literals ------------------------------------------------------------------------------------------------------------------- */

enum backslash { HIDES_NOTHING, HIDES_QUOTES, MAY_HIDE_QUOTES };

static enum backslash backslash_of(const struct sql_scan *s)
{
	return s->dialect == SQL_OF_SQL_SERVER || s->dialect == SQL_OF_SQLITE ? HIDES_NOTHING : MAY_HIDE_QUOTES;
}

/* Past the closing quote, which doubled is none. One that a backslash may hide is where the shape ends. */
static void skip_quoted(struct sql_scan *s, unsigned quote, enum backslash backslash)
{
	bool hidden = false;

	if (s->dialect == SQL_OF_ANY && sql_at(s, s->at + 1) == quote && sql_at(s, s->at + 2) == quote) /* three may be a quote of their own */
		s->ended = true;
	for (s->at++; s->at < s->units && !s->ended; s->at++) {
		unsigned c = sql_at(s, s->at);
		if (c == '\\') {
			hidden = !hidden && backslash != HIDES_NOTHING;
			continue;
		}
		if (c == quote && hidden && backslash == MAY_HIDE_QUOTES)
			s->ended = true;
		if (c == quote && !hidden) {
			if (sql_at(s, s->at + 1) != quote)
				break;
			s->at++;
		}
		hidden = false;
	}
	s->at++;
}

static void take_literal(struct sql_scan *s, unsigned quote, enum backslash backslash)
{
	skip_quoted(s, quote, backslash);
	sql_put_value(s);
}

static void take_sql_number(struct sql_scan *s)
{
	unsigned c;

	while (c = sql_at(s, s->at), is_number(c) || is_name_start(c) || c == '.')
		s->at++;
	sql_put_value(s);
}

/* What stands between dollars is a text of its own language: all that comes after it is left out. */
static void take_dollar(struct sql_scan *s)
{
	unsigned next = sql_at(s, s->at + 1);

	s->at++;
	if ((next == '$' || is_name_start(next)) && s->dialect != SQL_OF_SQL_SERVER && s->dialect != SQL_OF_SQLITE) {
		sql_put_value(s);
		s->ended = true;
	} else {
		sql_put(s, '$');
	}
}

/* Names ---------------------------------------------------------------------------------------------------------------------- */

static bool is_sql_word(const struct sql_scan *s, size_t from, size_t to, const char *upper)
{
	size_t n = strlen(upper);

	if (to < from || to - from != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned c = sql_at(s, from + i);
		if (c != (unsigned char)upper[i] && c != ((unsigned char)upper[i] | 0x20u))
			return false;
	}
	return true;
}

static bool is_one_of_words(const struct sql_scan *s, size_t from, size_t to, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_sql_word(s, from, to, words[i]))
			return true;
	return false;
}
#define IS_ONE_OF(s, from, to, words) is_one_of_words(s, from, to, words, sizeof words / sizeof *words)

/* As it is, where it is not too long and has few digits. */
static void put_sql_name(struct sql_scan *s, size_t from, size_t to)
{
	unsigned digits = 0;

	for (size_t i = from; i < to; i++)
		digits += is_number(sql_at(s, i));
	if (digits > DIGITS_MOST || from + NAME_MOST < to) {
		sql_put(s, '?');
		return;
	}
	for (; from < to; from++)
		sql_put(s, sql_at(s, from) < 128 ? (char)sql_at(s, from) : '_');
}

/* Where the plain word in quotes ends whose opening quote is here; 0: it is none. */
static size_t quoted_word_end(const struct sql_scan *s, unsigned end)
{
	size_t from = s->at + 1, to = from;

	while (is_name_char(s, sql_at(s, to)))
		to++;
	return to > from && !is_number(sql_at(s, from)) && sql_at(s, to) == end && sql_at(s, to + 1) != end ? to : 0;
}

/* A name in quotes stays where it is a plain word. */
static void take_quoted_name(struct sql_scan *s, unsigned end)
{
	size_t to = quoted_word_end(s, end);

	if (to) {
		put_sql_name(s, s->at + 1, to);
		s->at = to + 1;
	} else if (s->dialect == SQL_OF_ANY) { /* it may be an array, or an operator */
		sql_put_value(s);
		s->ended = true;
	} else {
		skip_quoted(s, end, HIDES_NOTHING);
		sql_put(s, '?');
	}
}

/* SQLite takes for a text what is no name of anything, but not beside a dot or where only names can be. */
static bool is_name_for_sqlite(const struct sql_scan *s)
{
	size_t to = quoted_word_end(s, '"');

	if (!to)
		return false;
	return s->before == BEFORE_NAME || (s->len && s->out[s->len - 1] == '.') || (sql_at(s, to + 1) == '.' && !is_number(sql_at(s, to + 2)));
}

static void take_double_quoted(struct sql_scan *s)
{
	bool names = s->dialect == SQL_OF_POSTGRES || (s->dialect == SQL_OF_SQL_SERVER && !s->no_names);

	if (names || (s->dialect == SQL_OF_SQLITE && is_name_for_sqlite(s)))
		take_quoted_name(s, '"');
	else
		take_literal(s, '"', backslash_of(s));
}

/* What the word says of those that come: SET a TO smith, PRAGMA a = smith, EXEC a smith have values without quotes. */
static void note_word(struct sql_scan *s, size_t from, size_t to)
{
	static const char *const sets[] = {"SET", "PRAGMA"}, *const runs[] = {"EXEC", "EXECUTE"}, *const quoting[] = {"QUOTED_IDENTIFIER", "ANSI_DEFAULTS"};
	static const char *const names[] = {"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "AS"};

	if (IS_ONE_OF(s, from, to, runs))
		s->statement = STATEMENT_RUNS;
	else if (s->statement == STATEMENT_BEGINS)
		s->statement = IS_ONE_OF(s, from, to, sets) ? STATEMENT_SETS : STATEMENT_OTHER;
	else if (s->statement == STATEMENT_RUNS && sql_at(s, to) != '.')
		s->bare = true;
	else if (s->statement == STATEMENT_SETS && is_sql_word(s, from, to, "TO"))
		s->bare = true;
	s->no_names |= IS_ONE_OF(s, from, to, quoting);
	if (is_sql_word(s, from, to, "DISTINCT"))
		s->before = BEFORE_DISTINCT;
	else /* IS DISTINCT FROM "a text" */
		s->before = IS_ONE_OF(s, from, to, names) && s->before != BEFORE_DISTINCT ? BEFORE_NAME : BEFORE_NOTHING;
}

/* E'', N'', X'': true, and it has been taken. Oracle's q'[]' has an end of its own. */
static bool take_literal_with_prefix(struct sql_scan *s, size_t from)
{
	bool escapes = s->dialect == SQL_OF_POSTGRES && is_sql_word(s, from, s->at, "E");

	if (sql_at(s, s->at) != '\'' || s->at > from + 2)
		return false;
	if (s->dialect == SQL_OF_ANY && is_sql_word(s, difference(s->at, 1), s->at, "Q"))
		s->ended = true;
	take_literal(s, '\'', escapes ? HIDES_QUOTES : backslash_of(s));
	return true;
}

static void take_sql_name(struct sql_scan *s)
{
	size_t from = s->at;
	bool variable = from > 0 && sql_at(s, from - 1) == '@';

	while (is_name_char(s, sql_at(s, s->at)))
		s->at++;
	if (take_literal_with_prefix(s, from)) {
		s->before = BEFORE_NOTHING;
		return;
	}
	if (s->bare && !variable)
		sql_put_value(s);
	else
		put_sql_name(s, from, s->at);
	if (!variable)
		note_word(s, from, s->at);
}

/* Comments ------------------------------------------------------------------------------------------------------------------- */

/* Whether a carriage return ends one is each server's own. */
static void skip_line(struct sql_scan *s)
{
	for (; s->at < s->units && sql_at(s, s->at) != '\n' && !s->ended; s->at++)
		s->ended = sql_at(s, s->at) == '\r' && sql_at(s, s->at + 1) != '\n';
}

/* Comments in comments are of PostgreSQL and SQL Server, those with code of MySQL. */
static void skip_block(struct sql_scan *s)
{
	unsigned third = sql_at(s, s->at + 2), depth = 1;
	bool nests = s->dialect == SQL_OF_POSTGRES || s->dialect == SQL_OF_SQL_SERVER, any = s->dialect == SQL_OF_ANY;

	if ((any || s->dialect == SQL_OF_MYSQL) && (third == '!' || third == '+' || (third == 'M' && sql_at(s, s->at + 3) == '!')))
		s->ended = true;
	for (s->at += 2; s->at < s->units && depth && !s->ended; s->at++) {
		unsigned c = sql_at(s, s->at), next = sql_at(s, s->at + 1);
		bool begins = c == '/' && next == '*', ends = c == '*' && next == '/';
		s->ended = any && begins;
		depth = ends ? depth - 1 : depth + (begins && nests);
		s->at += ends || (begins && nests);
	}
}

/* -- is two operators for MySQL unless a blank follows; # is an operator for PostgreSQL, and begins a name for SQL Server. */
static bool skip_comment(struct sql_scan *s)
{
	unsigned c = sql_at(s, s->at), next = sql_at(s, s->at + 1), third = sql_at(s, s->at + 2);

	if (c == '/' && next == '*') {
		skip_block(s);
		return true;
	}
	if (c == '-' && next == '-' && (third <= ' ' || third == 127 || s->dialect != SQL_OF_MYSQL)) {
		s->ended = third > ' ' && s->dialect == SQL_OF_ANY;
		skip_line(s);
		return true;
	}
	if (c != '#' || (s->dialect != SQL_OF_MYSQL && s->dialect != SQL_OF_ANY))
		return false;
	s->ended = s->dialect == SQL_OF_ANY;
	skip_line(s);
	return true;
}

/* All of it ------------------------------------------------------------------------------------------------------------------ */

static void take_sql_sign(struct sql_scan *s, unsigned c)
{
	s->at++;
	sql_put(s, c > ' ' && c < 127 ? (char)c : ' ');
	if (c > ' ')
		s->before = BEFORE_NOTHING;
	if (c == ';') {
		s->statement = STATEMENT_BEGINS;
		s->bare = false;
	} else if (s->statement == STATEMENT_SETS && (c == '=' || c == '(')) {
		s->bare = true;
	}
}

/* Anything but a comment, a name without quotes or a sign. */
static bool take_quoted_or_number(struct sql_scan *s, unsigned c)
{
	if (c == '\'')
		take_literal(s, c, backslash_of(s));
	else if (c == '"')
		take_double_quoted(s);
	else if (c == '`' && s->dialect != SQL_OF_POSTGRES)
		take_quoted_name(s, c);
	else if (c == '[' && s->dialect != SQL_OF_POSTGRES && s->dialect != SQL_OF_MYSQL)
		take_quoted_name(s, ']');
	else if (c == '$')
		take_dollar(s);
	else if (is_number(c))
		take_sql_number(s);
	else
		return false;
	s->before = BEFORE_NOTHING;
	s->bare |= s->statement == STATEMENT_RUNS && sql_at(s, s->at) != '.'; /* the procedure's name is behind us */
	return true;
}

enum sql_dialect sql_dialect_of(const struct event_text *client)
{
	static const struct {
		const char *begins;
		enum sql_dialect dialect;
	} rows[] = {
		{"Npgsql.", SQL_OF_POSTGRES}, {"Microsoft.Data.SqlClient.", SQL_OF_SQL_SERVER}, {"System.Data.SqlClient.", SQL_OF_SQL_SERVER},
		{"Microsoft.Data.Sqlite.", SQL_OF_SQLITE}, {"System.Data.SQLite.", SQL_OF_SQLITE},
		{"MySqlConnector.", SQL_OF_MYSQL}, {"MySql.Data.", SQL_OF_MYSQL},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (event_text_is(client, rows[i].begins, false))
			return rows[i].dialect;
	return SQL_OF_ANY;
}

uint16_t sql_shape_make(const struct event_text *sql, enum sql_dialect dialect, char out[SQL_SHAPE_BYTES])
{
	struct sql_scan s = {.sql = sql, .dialect = dialect, .units = sql->units < UNITS_MOST ? sql->units : UNITS_MOST, .out = out};

	while (s.at < s.units && !s.ended) {
		unsigned c = sql_at(&s, s.at);
		if (is_name_start(c))
			take_sql_name(&s);
		else if (!take_quoted_or_number(&s, c) && !skip_comment(&s))
			take_sql_sign(&s, c);
	}
	while (s.len && s.out[s.len - 1] == ' ')
		s.len--;
	return s.len;
}
