#include "profiler/requests/listener_call.h"
#include "profiler/requests/sql_shape.h"
#include "tests/unit/profiler/strange_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *shape_of(const char *command, size_t len, enum sql_dialect dialect)
{
	static char out[SQL_SHAPE_BYTES + 1];
	uint8_t *units = malloc(2 * len + 1);

	for (size_t i = 0; i < len; i++) {
		units[2 * i] = (uint8_t)command[i];
		units[2 * i + 1] = command[i] == '\x7e' ? 4 : 0; /* ~: a letter of another alphabet */
	}
	const struct event_text text = {units, len};
	out[sql_shape_make(&text, dialect, out)] = 0;
	free(units);
	return out;
}

static const struct {
	enum sql_dialect dialect;
	const char *command, *shape;
} rows[] = {
	/* whatever the client is */
	{SQL_OF_ANY, "SELECT name FROM items WHERE id = 42", "SELECT name FROM items WHERE id = ?"},
	{SQL_OF_ANY, "SELECT  a,\n b FROM t WHERE c = 'secret ''quoted'' x' AND d=$1", "SELECT a, b FROM t WHERE c = ? AND d=$?"},
	{SQL_OF_ANY, "SELECT 1 -- secret\nFROM t /* secret */ WHERE a IN (1, 2, 'x', 4)", "SELECT ? FROM t WHERE a IN (?)"},
	{SQL_OF_ANY, "SELECT [Order], `n` FROM t", "SELECT Order, n FROM t"},
	{SQL_OF_ANY, "SELECT 'secret", "SELECT ?"}, {SQL_OF_ANY, "", ""}, {SQL_OF_ANY, "SELECT 0xDEADBEEF, 1.5e10, -3 FROM t2", "SELECT ?, -? FROM t2"},
	{SQL_OF_ANY, "SELECT N'secret' || X'00' || B'1' || _utf8'secret' FROM t", "SELECT ? || ? || ? || _utf8? FROM t"},
	{SQL_OF_ANY, "SELECT a FROM orders_20240131, iso8601", "SELECT a FROM ?, iso8601"},
	{SQL_OF_ANY, "SELECT ~a FROM t~", "SELECT _a FROM t_"},
	/* where servers differ the shape ends */
	{SQL_OF_ANY, "SELECT a FROM t WHERE b = \"Smith\" AND c", "SELECT a FROM t WHERE b = ? AND c"},
	{SQL_OF_ANY, "SELECT 'it\\'s secret', secret", "SELECT ?"}, {SQL_OF_ANY, "SELECT 'dir\\\\', a", "SELECT ?, a"},
	{SQL_OF_ANY, "SELECT $$secret$$, secret", "SELECT ?"}, {SQL_OF_ANY, "SELECT $tag$secret$tag$", "SELECT ?"},
	{SQL_OF_ANY, "SELECT a # secret\n, b", "SELECT a"}, {SQL_OF_ANY, "SELECT 1--'a\nsecret'", "SELECT ?"},
	{SQL_OF_ANY, "SELECT a -- b\rsecret", "SELECT a"}, {SQL_OF_ANY, "SELECT a /* /* */ secret */", "SELECT a"},
	{SQL_OF_ANY, "SELECT a /*! 'x */ secret' */", "SELECT a"}, {SQL_OF_ANY, "SELECT q'[it's secret]', b", "SELECT ?"},
	{SQL_OF_ANY, "SELECT '''it's secret''' FROM t", "SELECT ?"}, {SQL_OF_ANY, "SELECT ['a]b', 'secret']", "SELECT ?"},
	/* PostgreSQL */
	{SQL_OF_POSTGRES, "SELECT \"Id\", n.\"Name\" FROM \"a secret\" AS n", "SELECT Id, n.Name FROM ? AS n"},
	{SQL_OF_POSTGRES, "SELECT E'it\\'s secret' || N'secret', a", "SELECT ? || ?, a"}, {SQL_OF_POSTGRES, "SELECT 'it\\'s secret'", "SELECT ?"},
	{SQL_OF_POSTGRES, "SELECT a #>> '{secret}' FROM t", "SELECT a #>> ? FROM t"}, {SQL_OF_POSTGRES, "SELECT a->'secret'->>'b' FROM t", "SELECT a->?->>? FROM t"},
	{SQL_OF_POSTGRES, "SELECT ARRAY['a]b', 'secret'], a[b] FROM t", "SELECT ARRAY[?], a[b] FROM t"},
	{SQL_OF_POSTGRES, "SELECT a /* b /* c */ secret */ FROM t", "SELECT a FROM t"}, {SQL_OF_POSTGRES, "SELECT a$1 FROM t", "SELECT a$1 FROM t"},
	{SQL_OF_POSTGRES, "SET app.tenant TO smith", "SET app.tenant TO ?"}, {SQL_OF_POSTGRES, "SET a = smith; UPDATE b SET c = d", "SET a = ?; UPDATE b SET c = d"},
	{SQL_OF_POSTGRES, "SELECT ~E'a\\'b", "SELECT ?"},
	/* SQL Server */
	{SQL_OF_SQL_SERVER, "SELECT [Id], \"Name\", [it's] FROM #t WHERE a LIKE N'secret' ESCAPE N'\\' AND b", "SELECT Id, Name, ? FROM #t WHERE a LIKE ? ESCAPE ? AND b"},
	{SQL_OF_SQL_SERVER, "SET QUOTED_IDENTIFIER OFF; SELECT \"Smith\"", "SET QUOTED_IDENTIFIER OFF; SELECT ?"},
	{SQL_OF_SQL_SERVER, "EXEC @r = dbo.Find smith, @a", "EXEC @r = dbo.Find ?, @a"}, {SQL_OF_SQL_SERVER, "EXEC [dbo].[Find] smith", "EXEC dbo.Find ?"},
	{SQL_OF_SQL_SERVER, "SET NOCOUNT ON;\nSELECT $5.00, a", "SET NOCOUNT ON; SELECT $?, a"},
	/* SQLite: a text in double quotes that names nothing is a literal */
	{SQL_OF_SQLITE, "SELECT \"i\".\"name\" FROM \"items\" AS \"i\" WHERE \"i\".\"id\" = $id", "SELECT i.name FROM items AS i WHERE i.id = $id"},
	{SQL_OF_SQLITE, "SELECT a FROM t WHERE b = \"Smith\" AND c IS DISTINCT FROM \"Smith\"", "SELECT a FROM t WHERE b = ? AND c IS DISTINCT FROM ?"},
	{SQL_OF_SQLITE, "SELECT a FROM t WHERE b = 'dir\\' AND c = [d e]", "SELECT a FROM t WHERE b = ? AND c = ?"},
	{SQL_OF_SQLITE, "INSERT INTO \"items\" (\"name\") VALUES (@p0)", "INSERT INTO items (?) VALUES (@p0)"}, {SQL_OF_SQLITE, "PRAGMA key = smith", "PRAGMA key = ?"},
	{SQL_OF_SQLITE, "SELECT \"Smith\".5, \"a b\".c", "SELECT ?.?.c"},
	/* MySQL */
	{SQL_OF_MYSQL, "SELECT `a`, `it's` FROM t WHERE b = \"Smith\" # secret\nLIMIT 1", "SELECT a, ? FROM t WHERE b = ? LIMIT ?"},
	{SQL_OF_MYSQL, "SELECT 1--'a\nsecret', b", "SELECT ?--?, b"}, {SQL_OF_MYSQL, "SELECT a /* /* */ FROM t", "SELECT a FROM t"},
	{SQL_OF_MYSQL, "SELECT \"it\\\"s secret\"", "SELECT ?"}, {SQL_OF_MYSQL, "SELECT a /*+ x */ FROM t", "SELECT a"},
};

Test(sql_shape, literals_go)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *shape = shape_of(rows[i].command, strlen(rows[i].command), rows[i].dialect);
		cr_expect_str_eq(shape, rows[i].shape, "%d: %s: %s", rows[i].dialect, rows[i].command, shape);
	}
}

Test(sql_shape, it_is_bounded)
{
	static char command[1500];
	memset(command, 'a', sizeof command - 1);
	cr_expect_str_eq(shape_of(command, sizeof command - 1, SQL_OF_ANY), "?");
	for (size_t i = 1; i < sizeof command - 1; i += 3)
		command[i] = ' ';
	cr_expect_eq(strlen(shape_of(command, sizeof command - 1, SQL_OF_ANY)), SQL_SHAPE_BYTES);
}

Test(sql_shape, the_client_tells_the_dialect)
{
	static const struct {
		const char *client;
		enum sql_dialect dialect;
	} clients[] = {
		{"Npgsql.NpgsqlCommand", SQL_OF_POSTGRES}, {"Microsoft.Data.SqlClient.SqlCommand", SQL_OF_SQL_SERVER},
		{"Microsoft.Data.Sqlite.SqliteCommand", SQL_OF_SQLITE}, {"MySqlConnector.MySqlCommand", SQL_OF_MYSQL},
		{"StackExchange.Profiling.Data.ProfiledDbCommand", SQL_OF_ANY}, {"", SQL_OF_ANY}, {"Npgsql", SQL_OF_ANY},
	};
	for (size_t i = 0; i < sizeof clients / sizeof *clients; i++) {
		struct strange_payload p = {NULL, 0, 0};
		strange_puts(&p, clients[i].client);
		cr_expect_eq(sql_dialect_of(&(struct event_text){p.data, p.len / 2 - 1}), clients[i].dialect, "%s", clients[i].client);
		free(p.data);
	}
}

/* A marker at the place of any literal, in thousands of commands of each dialect ------------------------------------------------ */

#define MARKER "Zmarkz" /* a plain word: what leaks of a literal is most likely to look like a name */

struct command {
	char text[12000];
	size_t len;
	enum sql_dialect dialect; /* as its text is; what the shape is made by may be SQL_OF_ANY */
	struct strange s;
};

static void put(struct command *c, const char *text)
{
	size_t n = strlen(text);
	if (c->len + n < sizeof c->text) {
		memcpy(c->text + c->len, text, n);
		c->len += n;
	}
}

static bool one_in(struct command *c, uint32_t n)
{
	return strange_below(&c->s, n) == 0;
}

/* A text between quotes: markers and what may end it too soon or too late, escaped as the dialect has it. */
static void put_inside(struct command *c, char quote, bool backslashes)
{
	static const char *const pieces[] = {
		MARKER, MARKER, " " MARKER " ", "\n", "\r", "\r\n", "--", "-- ", "#", "/*", "*/", "/*!", "$$", "$a$", "[",
		"]", "(", ")", ",", ";", "{", "}", "?", "@", ":", ".", "0", "42", "~", "FROM ", "SET ", "=", "EXEC ", "E",
		"N", "q", "%", "_",
	};
	char both[3] = {quote, quote, 0}, hidden[3] = {'\\', quote, 0};

	for (uint32_t n = strange_below(&c->s, 8); n--;) {
		uint32_t kind = strange_below(&c->s, 12);
		if (kind == 0)
			put(c, both);
		else if (kind == 1 && backslashes)
			put(c, one_in(c, 2) ? hidden : "\\\\");
		else if (kind == 1)
			put(c, "\\");
		else if (kind == 2)
			put(c, quote == '\'' ? "\"" : quote == '"' ? "'" : "'\"");
		else
			put(c, pieces[strange_below(&c->s, sizeof pieces / sizeof *pieces)]);
	}
	put(c, MARKER);
}

static void put_between(struct command *c, const char *before, char quote, bool backslashes)
{
	char one[2] = {quote, 0};

	put(c, before);
	put(c, one);
	put_inside(c, quote, backslashes);
	put(c, one);
}

static void put_postgres_literal(struct command *c)
{
	switch (strange_below(&c->s, 6)) {
	case 0:
		put_between(c, one_in(c, 2) ? "E" : "e", '\'', true);
		break;
	case 1:
		put(c, one_in(c, 2) ? "$$" : "$$a ' ");
		put(c, MARKER " ' " MARKER "$$");
		break;
	case 2:
		put(c, "$tag$" MARKER "$$ ' \" " MARKER " $tag$");
		break;
	case 3:
		put(c, "ARRAY[");
		put_between(c, "", '\'', false);
		put_between(c, ", ", '\'', false);
		put(c, "]");
		break;
	case 4:
		put_between(c, "U&", '\'', false);
		break;
	default:
		put_between(c, one_in(c, 4) ? "x" : "", '\'', one_in(c, 4)); /* standard_conforming_strings off */
	}
}

static void put_number(struct command *c)
{
	static const char *const numbers[] = {"4711", "0x5a6d61726b7a", "47.11", ".4711", "4711e10", "1_000_4711", "0b1010", "4711."};

	put(c, numbers[strange_below(&c->s, sizeof numbers / sizeof *numbers)]);
}

static void put_comment(struct command *c)
{
	bool nests = c->dialect == SQL_OF_POSTGRES || c->dialect == SQL_OF_SQL_SERVER;

	switch (strange_below(&c->s, 6)) {
	case 4:
		put(c, c->dialect == SQL_OF_MYSQL ? "/*! 'a */ " MARKER "' */" : c->dialect == SQL_OF_POSTGRES ? "-- a\r'\n" MARKER "'\n" : " ");
		break;
	case 5:
		put(c, c->dialect != SQL_OF_MYSQL ? " " : one_in(c, 2) ? "/*M! 'a */ " MARKER "' */" : "--'a\n" MARKER "' ");
		break;
	case 0:
		put(c, c->dialect == SQL_OF_MYSQL || one_in(c, 2) ? "-- it's " MARKER "\n" : "--'" MARKER "\n");
		break;
	case 1:
		put(c, nests ? "/* /* it's */ " MARKER " ' */" : "/* /* ' " MARKER " */");
		break;
	case 2:
		put(c, c->dialect == SQL_OF_MYSQL ? "# it's " MARKER " /* \n" : "/* it's " MARKER "*/");
		break;
	default:
		put(c, " ");
	}
}

/* Where a value stands. */
static void put_literal(struct command *c)
{
	if (one_in(c, 6)) {
		put_number(c);
	} else if (c->dialect == SQL_OF_POSTGRES) {
		put_postgres_literal(c);
	} else if (c->dialect == SQL_OF_SQL_SERVER) {
		put_between(c, one_in(c, 2) ? "N" : "", '\'', false);
	} else if (c->dialect == SQL_OF_SQLITE) {
		put_between(c, one_in(c, 8) ? "x" : "", one_in(c, 3) ? '"' : '\'', false);
	} else {
		bool escapes = one_in(c, 2); /* or NO_BACKSLASH_ESCAPES */
		put_between(c, one_in(c, 8) ? "_utf8mb4" : one_in(c, 8) ? "N" : "", one_in(c, 2) ? '"' : '\'', escapes);
	}
}

static void put_name_of(struct command *c)
{
	static const char *const names[] = {"items", "id", "o.total", "E", "n", "q", "t2", "it", "x"};
	static const char *const postgres[] = {"\"Name\"", "\"it's\"", "i.\"a b\"", "a$b"};
	static const char *const server[] = {"[Name]", "[it's]", "#t", "dbo.[a b]", "\"Name\"", "[a]]b]"};
	static const char *const sqlite[] = {"\"i\".\"name\"", "[it's]", "`it's`", "$p", "`n`"};
	static const char *const mysql[] = {"`Name`", "`it's`", "@v", "a$b", "`a``b`"};

#define ANY_OF(list) list[strange_below(&c->s, sizeof list / sizeof *list)]
	put(c, one_in(c, 2)                          ? ANY_OF(names)
	       : c->dialect == SQL_OF_POSTGRES       ? ANY_OF(postgres)
	       : c->dialect == SQL_OF_SQL_SERVER     ? ANY_OF(server)
	       : c->dialect == SQL_OF_SQLITE         ? ANY_OF(sqlite)
						     : ANY_OF(mysql));
}

static void put_condition(struct command *c)
{
	static const char *const signs[] = {" = ", "=", " <> ", " LIKE ", " IS DISTINCT FROM ", " - ", "||", ",", " + -", " AND "};
	static const char *const json[] = {" -> ", "->>", " #>> ", " ? ", " @> ", "::text = "};

	put_name_of(c);
	put(c, c->dialect == SQL_OF_POSTGRES && one_in(c, 3) ? ANY_OF(json) : ANY_OF(signs));
	put_literal(c);
	put_comment(c);
}

static void put_list(struct command *c, const char *before)
{
	put(c, before);
	for (uint32_t n = 1 + strange_below(&c->s, 4); n--;) {
		put_literal(c);
		put(c, n ? one_in(c, 2) ? ", " : "," : ")");
	}
}

static void put_statement(struct command *c)
{
	static const char *const begins[] = {"SELECT ", "UPDATE items SET ", "DELETE FROM items WHERE ", "SELECT CASE WHEN ", "select a from t where "};

	switch (strange_below(&c->s, 6)) {
	case 0:
		put_list(c, "INSERT INTO items VALUES (");
		break;
	case 1:
		put_list(c, "SELECT a FROM items WHERE id IN (");
		break;
	case 2:
		put(c, c->dialect == SQL_OF_SQL_SERVER ? "EXEC dbo.Find " MARKER ", @p"
		       : c->dialect == SQL_OF_SQLITE   ? "PRAGMA key = " MARKER
						       : "SET a.b = " MARKER);
		break;
	default:
		put(c, ANY_OF(begins));
		put_comment(c);
		for (uint32_t n = 1 + strange_below(&c->s, 5); n--;) {
			put_condition(c);
			put(c, n ? " AND " : "");
		}
	}
	put(c, one_in(c, 4) ? ";" : "");
	if (one_in(c, 4)) { /* side by side with what stood there, but no part of a name */
		put(c, c->len && strchr("'\"), ;", c->text[c->len - 1]) ? "" : " ");
		put_literal(c);
	}
}

static void expect_nothing_of_literals(const struct command *c, enum sql_dialect as)
{
	const char *shape = shape_of(c->text, c->len, as);

	cr_assert_null(strstr(shape, "mark"), "dialect %d as %d:\n%.*s\n%s", c->dialect, as, (int)c->len, c->text, shape);
	cr_assert_null(strstr(shape, "4711"), "dialect %d as %d:\n%.*s\n%s", c->dialect, as, (int)c->len, c->text, shape);
	cr_assert(strange_is_printable(shape, strlen(shape)));
}

Test(sql_shape, no_literal_is_in_a_shape)
{
	static struct command c;
	size_t told = 0, commands = 0;

	for (enum sql_dialect dialect = SQL_OF_POSTGRES; dialect <= SQL_OF_MYSQL; dialect++)
		for (unsigned i = 0; i < 5000; i++) {
			c = (struct command){.dialect = dialect, .s = {0x9e3779b97f4a7c15u * (i + 1) + (uint64_t)dialect}};
			put_statement(&c);
			while (one_in(&c, 2)) {
				put(&c, "; ");
				put_statement(&c);
			}
			if (one_in(&c, 8) && c.len) /* without its end */
				c.len -= strange_below(&c.s, (uint32_t)c.len);
			expect_nothing_of_literals(&c, dialect);
			expect_nothing_of_literals(&c, SQL_OF_ANY);
			told += strlen(shape_of(c.text, c.len, dialect));
			commands++;
		}
	cr_expect_gt(told / commands, 20, "shapes say something: %zu bytes", told / commands);
}

/* Through the events, as they come: strange texts of any length, and tables that are full of them. */
Test(sql_shape, strange_commands_are_bounded)
{
	struct strange s = {1};

	for (unsigned i = 0; i < 3000; i++) {
		struct strange_payload p = {NULL, 0, 0};
		struct path_shape call;
		size_t len;
		strange_put_text(&p, &s);
		uint8_t *data = strange_take(&p, &s, &len);
		if (call_event_start(CALL_NPGSQL, data, len, &call))
			cr_assert(call.len <= PATH_SHAPE_BYTES && strange_is_printable(call.text, call.len));
		for (enum sql_dialect d = SQL_OF_ANY; d <= SQL_OF_MYSQL; d++) {
			char out[SQL_SHAPE_BYTES];
			uint16_t n = sql_shape_make(&(struct event_text){data, len / 2}, d, out);
			cr_assert(n <= sizeof out && strange_is_printable(out, n) && !memchr(out, '\'', n) && !memchr(out, '"', n));
		}
		free(data);
	}
}
