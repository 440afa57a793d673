#include "profiler/requests/request_event.h"

#include <criterion/criterion.h>
#include <string.h>

static uint8_t payload[4096];
static struct wire_writer w;

static void put_text(const char *ascii)
{
	for (; *ascii; ascii++)
		wire_put_u16(&w, (uint16_t)(unsigned char)*ascii);
	wire_put_u16(&w, 0);
}

static void begin_end(const char *event, uint16_t arguments)
{
	wire_writer_init(&w, payload, sizeof payload);
	put_text("Microsoft.AspNetCore");
	put_text(event);
	wire_put_u16(&w, arguments);
}

Test(request_event, a_start_has_method_and_path)
{
	struct event_text method, path;
	wire_writer_init(&w, payload, sizeof payload);
	put_text("GET");
	put_text("/orders");
	cr_assert(request_event_start(payload, w.pos, &method, &path));
	cr_expect(method.units == 3 && path.units == 7);
	for (size_t i = 0; i < w.pos; i++)
		cr_expect_not(request_event_start(payload, i, &method, &path), "%zu", i);
}

Test(request_event, an_end_has_a_status_and_perhaps_a_type)
{
	struct request_end end;
	begin_end("Microsoft.AspNetCore.Hosting.EndRequest", 2);
	put_text("StatusCode");
	put_text("503");
	size_t first = w.pos;
	put_text("ContentType");
	put_text("text/event-stream");
	cr_assert(request_event_end(payload, w.pos, &end));
	cr_expect(end.status == 503 && end.stream == REQUEST_EVENT_STREAM);
	for (size_t i = 0; i < first; i++)
		cr_expect_not(request_event_end(payload, i, &end), "%zu", i);
	begin_end("Microsoft.AspNetCore.Hosting.EndRequest", 1);
	put_text("StatusCode");
	put_text("101");
	cr_expect(request_event_end(payload, w.pos, &end) && end.stream == REQUEST_WEB_SOCKET);
	begin_end("Microsoft.AspNetCore.Hosting.BeginRequest", 1);
	put_text("StatusCode");
	put_text("200");
	cr_expect_not(request_event_end(payload, w.pos, &end), "another event");
	begin_end("Microsoft.AspNetCore.Hosting.EndRequest", 1);
	put_text("StatusCode");
	put_text("2000");
	cr_expect_not(request_event_end(payload, w.pos, &end), "no status");
}

Test(request_event, an_end_may_tell_its_client)
{
	struct request_end end;
	begin_end("Microsoft.AspNetCore.Hosting.EndRequest", 3);
	put_text("StatusCode");
	put_text("200");
	put_text("Client");
	put_text("::ffff:10.1.2.3");
	put_text("Port");
	put_text("65535");
	cr_assert(request_event_end(payload, w.pos, &end));
	cr_expect(end.client.units == 15 && end.port == 65535);
	static const char *const none[] = {"65536", "", "-1", "1e3", "4294967297"};
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		begin_end("Microsoft.AspNetCore.Hosting.EndRequest", 2);
		put_text("StatusCode");
		put_text("200");
		put_text("Port");
		put_text(none[i]);
		cr_expect(request_event_end(payload, w.pos, &end) && end.port == 0, "%s", none[i]);
	}
}
