#include "profiler/requests/call_event.h"
#include "profiler/requests/sql_shape.h"

#include <criterion/criterion.h>
#include <string.h>

static uint8_t payload[4096];

static void put_text(struct wire_writer *w, const char *ascii)
{
	for (; *ascii; ascii++)
		wire_put_u16(w, (uint16_t)(unsigned char)*ascii);
	wire_put_u16(w, 0);
}

static const char *sql(const char *command)
{
	static char out[SQL_SHAPE_BYTES + 1];
	struct wire_writer w;
	wire_writer_init(&w, payload, sizeof payload);
	put_text(&w, command);
	const struct event_text text = {payload, strlen(command)};
	out[sql_shape_make(&text, out)] = 0;
	return out;
}

Test(sql_shape, literals_go)
{
	static const struct {
		const char *command, *shape;
	} rows[] = {
		{"SELECT name FROM items WHERE id = 42", "SELECT name FROM items WHERE id = ?"},
		{"SELECT  a,\n b FROM t WHERE c = 'secret ''quoted'' x' AND d=$1", "SELECT a, b FROM t WHERE c = ? AND d=$?"},
		{"SELECT 1 -- secret\nFROM t /* secret */ WHERE a IN (1, 2, 'x', 4)", "SELECT ? FROM t WHERE a IN (?)"},
		{"SELECT \"Id\", [Order], `n` FROM \"a secret\"", "SELECT Id, Order, n FROM ?"},
		{"SELECT E'it\\'s secret' || N'secret'", "SELECT ? || ?"},
		{"SELECT $$secret$$, secret", "SELECT ?"}, {"SELECT $tag$secret$tag$", "SELECT ?"}, {"SELECT 'secret", "SELECT ?"},
		{"SELECT 0xDEADBEEF, 1.5e10, -3 FROM t2", "SELECT ?, -? FROM t2"}, {"", ""},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(sql(rows[i].command), rows[i].shape, "%s: %s", rows[i].command, sql(rows[i].command));
}

Test(sql_shape, it_is_bounded)
{
	static char command[1500];
	memset(command, 'a', sizeof command - 1);
	cr_expect_str_eq(sql(command), "?");
	for (size_t i = 1; i < sizeof command - 1; i += 3)
		command[i] = ' ';
	cr_expect_eq(strlen(sql(command)), SQL_SHAPE_BYTES);
}

static const char *call(enum call_kind kind, size_t len)
{
	static char out[PATH_SHAPE_BYTES + 1];
	struct path_shape s;
	if (!call_event_start(kind, payload, len, &s))
		return NULL;
	memcpy(out, s.text, s.len);
	out[s.len] = 0;
	return out;
}

Test(call_event, of_a_url_only_the_host_is_taken)
{
	struct wire_writer w;
	wire_writer_init(&w, payload, sizeof payload);
	put_text(&w, "https");
	put_text(&w, "shop.local");
	wire_put_u32(&w, 8443);
	size_t known = w.pos;
	put_text(&w, "/cart?token=secret");
	cr_expect_str_eq(call(CALL_HTTP, w.pos), "http shop.local:8443");
	for (size_t i = 0; i < known; i++)
		cr_expect_null(call(CALL_HTTP, i), "%zu", i);
}

Test(call_event, other_calls)
{
	struct wire_writer w;
	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u32(&w, 0);
	put_text(&w, "shop local");
	cr_expect_str_eq(call(CALL_TLS, w.pos), "tls shop_local");
	cr_expect_str_eq(call(CALL_NAME, 2), "dns ");
	wire_writer_init(&w, payload, sizeof payload);
	put_text(&w, "SELECT 'secret'");
	cr_expect_str_eq(call(CALL_NPGSQL, w.pos), "sql SELECT ?");
	cr_expect_str_eq(call(CALL_CONNECT, w.pos), "connect ");
	cr_expect(call_event_moment(CALL_HTTP, 1) == CALL_START && call_event_moment(CALL_HTTP, 2) == CALL_STOP);
	cr_expect_eq(call_event_moment(CALL_HTTP, 3), CALL_FAILED);
	cr_expect(call_event_moment(CALL_HTTP, 7) == CALL_OTHER && call_event_moment(CALL_NPGSQL, 1) == CALL_OTHER);
	cr_expect(call_event_moment(CALL_NPGSQL, 3) == CALL_START && call_event_moment(CALL_NPGSQL, 4) == CALL_STOP);
}
