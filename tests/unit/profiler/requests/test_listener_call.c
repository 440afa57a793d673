#include "profiler/requests/listener_call.h"

#include <criterion/criterion.h>
#include <string.h>

#define COMMAND "Microsoft.EntityFrameworkCore.Database.Command.Command"
#define ID "0f8fad5b-d9cb-469f-a165-70867728950e"

static uint8_t payload[4096];

static void put_text(struct wire_writer *w, const char *ascii)
{
	for (; *ascii; ascii++)
		wire_put_u16(w, (uint16_t)(unsigned char)*ascii);
	wire_put_u16(w, 0);
}

static size_t event(const char *name, const char *const arguments[][2], uint16_t count)
{
	struct wire_writer w;
	wire_writer_init(&w, payload, sizeof payload);
	put_text(&w, "Microsoft.EntityFrameworkCore");
	put_text(&w, name);
	wire_put_u16(&w, count);
	for (uint16_t i = 0; i < count; i++) {
		put_text(&w, arguments[i][0]);
		put_text(&w, arguments[i][1]);
	}
	return w.pos;
}

Test(listener_call, a_command_begins_and_ends)
{
	static const char *const start[][2] = {{"Id", ID}, {"Client", "Microsoft.Data.Sqlite.SqliteCommand"}, {"Text", "SELECT 'secret'"}};
	struct listener_call begun, ended;
	size_t len = event(COMMAND "Executing", start, 3);
	for (size_t i = 0; i < len; i++)
		cr_expect_not(listener_call_read(payload, i, &begun), "%zu", i);
	cr_assert(listener_call_read(payload, len, &begun));
	cr_expect_eq(begun.moment, CALL_START);
	cr_expect_eq(strncmp(begun.shape.text, "sql SELECT ?", begun.shape.len), 0, "%.*s", begun.shape.len, begun.shape.text);
	static const struct {
		const char *name;
		enum call_moment moment;
	} ends[] = {{COMMAND "Executed", CALL_STOP}, {COMMAND "Error", CALL_FAILED}, {COMMAND "Canceled", CALL_FAILED}};
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		cr_assert(listener_call_read(payload, event(ends[i].name, start, 1), &ended), "%s", ends[i].name);
		cr_expect(ended.moment == ends[i].moment && ended.id.high == begun.id.high && ended.id.low == begun.id.low);
	}
}

/* What is a literal depends on whose command it is. */
Test(listener_call, the_client_tells_what_double_quotes_are)
{
	static const struct {
		const char *name, *client, *sql, *shape;
	} cases[] = {
		{COMMAND "Executing", "Microsoft.Data.Sqlite.SqliteCommand", "SELECT \"i\".\"a\" FROM \"t\" WHERE b = \"Smith\"",
		 "sql SELECT i.a FROM t WHERE b = ?"},
		{COMMAND "Executing", "MySqlConnector.MySqlCommand", "SELECT `a` FROM t WHERE b = \"Smith\" # Smith", "sql SELECT a FROM t WHERE b = ?"},
		{COMMAND "Executing", "Wrapped", "SELECT 'it\\'s Smith'", "sql SELECT ?"},
		{"Microsoft.Data.SqlClient.WriteCommandBefore", "", "SELECT \"a\" FROM #t WHERE b = 'c\\' AND d", "sql SELECT a FROM #t WHERE b = ? AND d"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *const start[][2] = {{"Id", ID}, {"Client", cases[i].client}, {"Text", cases[i].sql}};
		struct listener_call c;
		cr_assert(listener_call_read(payload, event(cases[i].name, start, 3), &c));
		cr_expect(c.shape.len == strlen(cases[i].shape) && memcmp(c.shape.text, cases[i].shape, c.shape.len) == 0, "%.*s", c.shape.len, c.shape.text);
	}
}

Test(listener_call, of_sql_client)
{
	static const char *const start[][2] = {{"Id", ID}, {"Text", "SELECT 'secret'"}};
	static const char *const by_framework[][2] = {{"Id", ID}, {"Client", "Microsoft.Data.SqlClient.SqlCommand"}, {"Text", "SELECT 1"}};
	struct listener_call c;
	cr_assert(listener_call_read(payload, event("Microsoft.Data.SqlClient.WriteCommandBefore", start, 2), &c));
	cr_expect(c.moment == CALL_START && strncmp(c.shape.text, "sql SELECT ?", c.shape.len) == 0);
	cr_assert(listener_call_read(payload, event("Microsoft.Data.SqlClient.WriteCommandAfter", start, 1), &c));
	cr_expect_eq(c.moment, CALL_STOP);
	cr_assert(listener_call_read(payload, event("Microsoft.Data.SqlClient.WriteCommandError", start, 1), &c));
	cr_expect_eq(c.moment, CALL_FAILED);
	cr_expect_not(listener_call_read(payload, event("Microsoft.Data.SqlClient.WriteConnectionOpenBefore", start, 1), &c));
	cr_expect_not(listener_call_read(payload, event(COMMAND "Executing", by_framework, 3), &c), "its own events tell of it");
}

Test(listener_call, what_is_none)
{
	static const char *const own[][2] = {{"Id", ID}, {"Client", "Npgsql.NpgsqlCommand"}, {"Text", "SELECT 1"}};
	static const char *const no_text[][2] = {{"Id", ID}};
	static const char *const bad_ids[][2] = {{"Id", ""}, {"Id", ID "0"}, {"Id", "0f8fad5b-d9cb-469f-a165-70867728950"}, {"Id", "x"}};
	struct listener_call c;
	cr_expect_not(listener_call_read(payload, event(COMMAND "Executing", own, 3), &c), "its own events tell of it");
	cr_expect_not(listener_call_read(payload, event(COMMAND "Executing", no_text, 1), &c));
	cr_expect_not(listener_call_read(payload, event(COMMAND "Created", no_text, 1), &c));
	cr_expect_not(listener_call_read(payload, event("Microsoft.AspNetCore.Hosting.EndRequest", no_text, 1), &c));
	for (size_t i = 0; i < 4; i++)
		cr_expect_not(listener_call_read(payload, event(COMMAND "Executed", bad_ids + i, 1), &c), "%s", bad_ids[i][1]);
}
