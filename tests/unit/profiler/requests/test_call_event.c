#include "profiler/requests/call_event.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static uint8_t payload[4096];

static void put_text(struct wire_writer *w, const char *ascii)
{
	for (; *ascii; ascii++)
		wire_put_u16(w, (uint16_t)(unsigned char)*ascii);
	wire_put_u16(w, 0);
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
}

static enum call_moment moment(enum call_kind kind, uint32_t id, const char *name)
{
	struct wire_writer w;
	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u32(&w, id);
	put_text(&w, name);
	return call_event_moment(kind, id, payload, w.pos);
}

Test(call_event, moments)
{
	cr_expect(moment(CALL_HTTP, 1, "RequestStart") == CALL_START && moment(CALL_HTTP, 2, "RequestStop") == CALL_STOP);
	cr_expect(moment(CALL_HTTP, 3, "RequestFailed") == CALL_FAILED && moment(CALL_HTTP, 7, "RequestHeadersStart") == CALL_OTHER);
	cr_expect(moment(CALL_HTTP, 4, "ConnectionEstablished") == CALL_OPENED && moment(CALL_HTTP, 6, "RequestLeftQueue") == CALL_QUEUED);
	cr_expect(moment(CALL_NAME, 4, "") == CALL_OTHER && moment(CALL_TLS, 6, "") == CALL_OTHER);
	/* whatever their numbers are */
	cr_expect(moment(CALL_NPGSQL, 24, "CommandStart") == CALL_START && moment(CALL_NPGSQL, 3, "CommandStart") == CALL_START);
	cr_expect(moment(CALL_NPGSQL, 25, "CommandStop") == CALL_STOP && moment(CALL_NPGSQL, 1, "CommandStarted") == CALL_OTHER);
	cr_expect_eq(call_event_moment(CALL_NPGSQL, 1, payload, 3), CALL_OTHER);
}

/* The wait for a connection is a call of its own, and what was opened is known by its host. */
Test(call_event, of_a_pool_of_connections)
{
	static const char call_text[] = "http shop.local:8080";
	static char long_call[PATH_SHAPE_BYTES] = "http ";
	struct path_shape s;
	struct wire_writer w;
	double ms = 12.5, none = NAN;
	uint64_t ns = 0, bits;
	memcpy(&bits, &ms, sizeof bits);
	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u64(&w, bits);
	cr_assert(call_event_queued(payload, w.pos, &ns));
	cr_expect_eq(ns, 12500000);
	cr_expect_not(call_event_queued(payload, w.pos - 1, &ns));
	memcpy(payload, &none, sizeof none);
	cr_expect_not(call_event_queued(payload, w.pos, &ns));

	cr_assert(call_event_queue_shape(call_text, sizeof call_text - 1, &s));
	cr_expect_eq(strncmp(s.text, "http connection shop.local:8080", s.len), 0, "%.*s", s.len, s.text);
	memset(long_call + 5, 'a', sizeof long_call - 5);
	cr_assert(call_event_queue_shape(long_call, sizeof long_call, &s));
	cr_expect_eq(s.len, PATH_SHAPE_BYTES);
	cr_expect_not(call_event_queue_shape("sql SELECT", 10, &s));

	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u16(&w, 0x0101);
	wire_put_u64(&w, 7);
	put_text(&w, "http");
	put_text(&w, "shop.local");
	wire_put_u32(&w, 8080);
	for (size_t i = 0; i < w.pos; i++)
		cr_expect_not(call_event_opened(payload, i, &s), "%zu", i);
	cr_assert(call_event_opened(payload, w.pos, &s));
	cr_expect_eq(strncmp(s.text, "opened shop.local:8080", s.len), 0, "%.*s", s.len, s.text);
}
