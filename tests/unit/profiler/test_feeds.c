/* All that the library makes of what strangers send, from the bytes of an event to the frames for the agent, in a process without a runtime. */
#include "profiler/feeds.h"

#include "common/base/text.h"
#include "common/proto/channel_allocs.h"
#include "common/proto/channel_exceptions.h"
#include "common/proto/channel_requests.h"
#include "profiler/allocs/allocation_event.h"
#include "profiler/base/now.h"
#include "profiler/clr/event_pipe.h"
#include "profiler/exceptions/exception_event.h"
#include "profiler/requests/call_event.h"
#include "profiler/requests/grpc_methods.h"
#include "profiler/requests/shape_table.h"
#include "profiler/stacks/own_stack.h"
#include "tests/unit/profiler/strange_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define MARKER "zmarkz" /* stands where nothing may leave the process */

const struct guid cor_iid_import; /* in place of exports.c */
static struct strange s = {1};

/* In place of the runtime and of the agent ------------------------------------------------------------------------------------- */

static event_pipe_fn *deliver;
static uint64_t frames;

hresult event_pipe_start(void *info, const struct cor_event_provider *providers, uint32_t count, event_pipe_fn *on_event, const char **message)
{
	(void)info, (void)providers, (void)count, (void)message;
	deliver = on_event;
	return COR_S_OK;
}

hresult event_pipe_start_second(void *info, const struct cor_event_provider *providers, uint32_t count, const char **message)
{
	(void)info, (void)providers, (void)count, (void)message;
	return COR_S_OK;
}

hresult event_pipe_hold(void *info, const struct cor_event_provider *providers, uint32_t count)
{
	(void)info, (void)providers, (void)count;
	return COR_S_OK;
}

bool event_pipe_stop(void *info)
{
	return info != NULL;
}

bool event_pipe_stop_second(void *info)
{
	return info != NULL;
}

bool event_pipe_release(void *info)
{
	return info != NULL;
}

void own_stack_prepare(void *info)
{
	(void)info;
}

void own_stack_tick(void)
{
}

/* Few places at first, then more than there is room for. */
struct own_stack own_stack_take(uint64_t *ips, size_t cap)
{
	size_t depth = strange_below(&s, 4) ? 1 + strange_below(&s, 3) : strange_below(&s, (uint32_t)cap + 1);

	for (size_t i = 0; i < depth; i++)
		ips[i] = 0x10000 + strange_below(&s, strange_below(&s, 4) ? 4 : 1u << 20);
	return (struct own_stack){depth, strange_below(&s, 8) == 0, strange_below(&s, 8) == 0};
}

/* Whether it is nowhere in there, in bytes or in UTF-16, in upper or lower case. */
static void check_absent(const uint8_t *data, size_t len, const char *marker, size_t stride)
{
	size_t n = strlen(marker), same = 0;

	for (size_t i = 0; i + n * stride <= len; i++) {
		for (same = 0; same < n && (data[i + same * stride] | 0x20) == marker[same]; same++)
			;
		cr_assert_lt(same, n, "%.*s", 60, data + i);
	}
}

static void check_text(struct channel_text t, size_t most, bool ascii)
{
	cr_assert_leq(t.len, most);
	cr_assert(!ascii || strange_is_printable(t.data, t.len), "%.*s", (int)t.len, t.data);
	for (size_t i = 0; i < t.len;) {
		uint32_t c = 0;
		size_t n = text_decode_utf8(t.data + i, t.len - i, &c);
		cr_assert(c != 0xfffd || n == 3);
		i += n;
	}
}

static void check_texts(const struct channel_frame *f)
{
	struct channel_request_shape shape;
	struct channel_exception_kind kind;
	struct channel_alloc_type type;
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	while (f->type == CHANNEL_REQUESTS_SHAPES && wire_left(&r) && channel_get_request_shape(&r, &shape))
		check_text(shape.text, PATH_SHAPE_BYTES, true);
	while (f->type == CHANNEL_EXCEPTIONS_KINDS && wire_left(&r) && channel_get_exception_kind(&r, &kind)) {
		check_text(kind.type, 600, false);
		check_text(kind.shape, 160, true);
		check_text(kind.message, 200, false);
	}
	while (f->type == CHANNEL_ALLOCS_TYPES && wire_left(&r) && channel_get_alloc_type(&r, &type))
		check_text(type.name, 1024, false);
	cr_assert_not(r.bad);
}

struct wire_writer *channel_io_begin(struct channel_io *io, uint16_t type)
{
	channel_begin(&io->writer, io->out, sizeof io->out, type);
	return &io->writer;
}

bool channel_io_end(struct channel_io *io)
{
	size_t used = 0, n = channel_end(&io->writer);
	struct channel_frame f;

	cr_assert(n > 0 && channel_next(io->out, n, &f, &used) == CHANNEL_FRAME && used == n);
	check_absent(f.payload, f.len, MARKER, 1);
	check_absent(f.payload, f.len, MARKER, 2);
	check_texts(&f);
	frames++;
	return true;
}

bool channel_io_flush(struct channel_io *io)
{
	return io != NULL;
}

bool channel_io_refuse(struct channel_io *io, uint16_t request, uint32_t code, const char *message)
{
	(void)io;
	cr_assert(false, "0x%x: %u %s", request, code, message);
	return false;
}

static hresult not_here(void)
{
	return COR_E_FAIL;
}

static hresult set_mask(void *self, uint32_t low, uint32_t high)
{
	(void)self, (void)low, (void)high;
	return COR_S_OK;
}

static uint16_t runtime_major = 10;

static hresult runtime_information(void *self, uint16_t *instance, uint32_t *type, uint16_t *major, uint16_t *minor, uint16_t *build)
{
	(void)self;
	*instance = *minor = *build = 0;
	*type = 0;
	*major = runtime_major;
	return COR_S_OK;
}

static void *slots[128];
static void **info = slots;
static struct channel_io io;

static void begin(uint16_t request, uint32_t what)
{
	uint8_t payload[4] = {(uint8_t)what, (uint8_t)(what >> 8)};

	for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
		slots[i] = (void *)not_here;
	slots[INFO_SET_EVENT_MASK2] = (void *)set_mask;
	slots[INFO_GET_RUNTIME_INFORMATION] = (void *)runtime_information;
	feeds_reset();
	cr_assert(feeds_answer(&info, &(struct channel_frame){.type = request, .payload = payload, .len = sizeof payload}, &io));
	feeds_tick(&io);
}

/* What strangers send ----------------------------------------------------------------------------------------------------------- */

static bool one_in(uint32_t n)
{
	return strange_below(&s, n) == 0;
}

/* A strange text, or one of these, with a marker in it at times. */
static void put_some(struct strange_payload *p, const char *const *texts, size_t count)
{
	if (one_in(3))
		strange_put_text(p, &s);
	else
		strange_puts(p, texts[strange_below(&s, (uint32_t)count)]);
}
#define PUT_SOME(p, ...) put_some(p, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* On memory of its own, at times cut short, with an activity of a few or of none. */
static void send(uint32_t provider, uint32_t id, uint32_t version, struct strange_payload *p, const char *name)
{
	uint8_t activity[16] = {(uint8_t)(0x11 + strange_below(&s, 64)), (uint8_t)(one_in(4) ? 0 : strange_below(&s, 256))};
	struct strange_payload m = {NULL, 0, 0};
	size_t len, metadata_len;

	strange_put(&m, id, 4);
	strange_puts(&m, name);
	uint8_t *data = strange_take(p, &s, &len), *metadata = strange_take(&m, &s, &metadata_len);
	const struct event_pipe_event e = {.provider = provider, .id = id, .version = version, .time_ns = now_ns(), .data = data, .len = len,
					   .activity = one_in(16) ? NULL : activity, .metadata = metadata, .metadata_len = metadata_len};
	deliver(&e);
	free(data);
	free(metadata);
}

enum { TASKS, HOSTING, FIRST_CALL, DIAGNOSTICS = EVENT_PIPE_PROVIDERS + 1 }; /* as requests.c asks for them */

#define LONG_WORDS "/abacedifogubacedifogubacedifogu/bacedifogubacedifogubacedifogub/cacedifogubacedifogubacedifogub/dacedifogubacedifogubacedifogub"

static void send_start(void)
{
	struct strange_payload p = {NULL, 0, 0};
	char path[sizeof LONG_WORDS + 40];
	size_t len = sizeof LONG_WORDS - 1 - strange_below(&s, 3); /* with what comes: about the size of a shape */

	PUT_SOME(&p, "GET", "POST", "CONNECT", "M" MARKER "X", "");
	snprintf(path, sizeof path, "%.*s/%.*s/%c%c", (int)len, LONG_WORDS, 15 + (int)strange_below(&s, 6), LONG_WORDS + 1, 'a' + (int)strange_below(&s, 26),
		 'a' + (int)strange_below(&s, 26));
	if (one_in(2))
		strange_puts(&p, path);
	else
		PUT_SOME(&p, "/", "/orders/" MARKER "4711", "/a/b/c/d/e/f/g/h/i/j/k/l/" MARKER, "/shop.Prices/Watch", "/x?" MARKER);
	send(HOSTING, REQUEST_EVENT_START, 0, &p, "RequestStart");
}

static void send_end(void)
{
	/* What routing took from a path is in it. */
	static const char *const routed[][2] = {
		{"/users/" MARKER "/a", "[name, " MARKER "]"}, {"/users/" MARKER, "[name, " MARKER "]"},
		{"/files/" MARKER "/" MARKER ".txt", "[path, " MARKER "/" MARKER ".txt]"},
		{"/a/" MARKER "/" MARKER, "[a, " MARKER "],[controller, x],[b, " MARKER "]"},
		{"/orders/" MARKER "4711", "["}, {"/", "[a, ],[b, ]"}, {"/orders", ""},
	};
	struct strange_payload p = {NULL, 0, 0};
	const char *const *path = routed[strange_below(&s, sizeof routed / sizeof *routed)];

	strange_puts(&p, "Microsoft.AspNetCore");
	strange_puts(&p, "Microsoft.AspNetCore.Hosting.EndRequest");
	strange_put(&p, one_in(8) ? strange_below(&s, 0x10000) : 6, 2);
	strange_puts(&p, "StatusCode");
	PUT_SOME(&p, "200", "101", "65536", "");
	strange_puts(&p, "Path");
	if (one_in(3)) {
		strange_put_text(&p, &s);
		strange_puts(&p, "Route");
		strange_put_text(&p, &s);
	} else {
		strange_puts(&p, path[0]);
		strange_puts(&p, "Route");
		strange_puts(&p, path[1]);
	}
	strange_puts(&p, "Client");
	PUT_SOME(&p, "192.0.2." MARKER, "::1", "");
	strange_puts(&p, "Port");
	PUT_SOME(&p, "4711", "65536", "");
	strange_puts(&p, "ContentType");
	PUT_SOME(&p, "text/event-stream;" MARKER, "application/grpc", MARKER);
	send(DIAGNOSTICS, 1, 0, &p, "Event");
}

static void send_command(void)
{
	static const char *const clients[] = {"Microsoft.Data.Sqlite.SqliteCommand", "MySqlConnector.MySqlCommand", "Npgsql.NpgsqlCommand", "Wrapped", ""};
	static const char *const events[] = {"Microsoft.EntityFrameworkCore.Database.Command.CommandExecuting", "Microsoft.Data.SqlClient.WriteCommandBefore",
					     "Microsoft.EntityFrameworkCore.Database.Command.CommandExecuted", "Microsoft.Data.SqlClient.WriteCommandError"};
	struct strange_payload p = {NULL, 0, 0};

	strange_puts(&p, "Microsoft.EntityFrameworkCore");
	strange_puts(&p, events[strange_below(&s, 4)]);
	strange_put(&p, 3, 2);
	strange_puts(&p, "Id");
	strange_puts(&p, one_in(2) ? "0f8fad5b-d9cb-469f-a165-70867728950e" : "1f8fad5b-d9cb-469f-a165-70867728950e");
	strange_puts(&p, "Client");
	strange_puts(&p, clients[strange_below(&s, 5)]);
	strange_puts(&p, "Text");
	PUT_SOME(&p, "SELECT a FROM t WHERE b = '" MARKER "'", "SELECT a, '" MARKER "''" MARKER "' FROM b", "SELECT 4711 -- " MARKER);
	send(DIAGNOSTICS, 1, 0, &p, "Event");
}

static void send_call(void)
{
	enum call_kind kind = (enum call_kind)strange_below(&s, CALL_KINDS);
	struct strange_payload p = {NULL, 0, 0};

	if (kind == CALL_NPGSQL) {
		PUT_SOME(&p, "SELECT \"a\" FROM t WHERE b = '" MARKER "'", "SELECT E'it\\'s " MARKER "'", "SELECT ARRAY['a]b', '" MARKER "']",
			 "SELECT $$" MARKER "$$");
	} else {
		if (kind == CALL_TLS)
			strange_put(&p, 0, 4);
		else if (kind == CALL_HTTP)
			PUT_SOME(&p, "http");
		PUT_SOME(&p, "shop.local", "[::1]", "");
		strange_put(&p, 0, 2); /* what comes is not of the host */
		strange_put(&p, one_in(4) ? strange_below(&s, 0xffffffff) : 8080, 4);
		strange_puts(&p, "/" MARKER);
	}
	send(FIRST_CALL + (uint32_t)kind, one_in(2) ? 1 : strange_below(&s, 8), 0, &p, one_in(2) ? "CommandStart" : "CommandStop");
}

static void send_of_request(void)
{
	struct strange_payload p = {NULL, 0, 0};

	switch (strange_below(&s, 8)) {
	case 0:
	case 1:
		send_start();
		break;
	case 2:
		send(HOSTING, REQUEST_EVENT_STOP, 0, &p, "RequestStop");
		break;
	case 3:
		send_end();
		break;
	case 4:
		send_command();
		break;
	case 5:
		strange_put(&p, 0x11 + strange_below(&s, 64), 8);
		strange_put(&p, strange_below(&s, 3), 8);
		send(TASKS, REQUEST_EVENT_ACTIVITY, 0, &p, "SetActivityId");
		break;
	default:
		send_call();
	}
}

/* Rounds begin anew before the plan rests for what so many events cost. */
Test(feeds, strange_requests_stay_within_bounds_and_nothing_of_values_leaves)
{
	for (unsigned round = 0; round < 8; round++) {
		begin(CHANNEL_REQUESTS_START, 0);
		grpc_methods_add("/shop.Prices/Watch", 1);
		for (unsigned i = 1; i <= 1500; i++) {
			send_of_request();
			if (i % 64 == 0)
				feeds_tick(&io);
		}
		feeds_stop(&info, &io);
	}
	cr_expect_gt(frames, 100);
}

/* Shapes, siblings, requests in flight, rings: all of them full. */
Test(feeds, full_tables_of_requests)
{
	static const char ends[] = "abcdefghijklmnopqrst";

	begin(CHANNEL_REQUESTS_START, 0);
	for (uint32_t i = 0; i < 80000; i++) {
		struct strange_payload p = {NULL, 0, 0};
		char path[64];
		uint8_t activity[16] = {0x11, (uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i >> 16), 0x22};
		snprintf(path, sizeof path, "/%c%ce/%ci%ca/o%c", ends[i % 20], ends[i / 20 % 20], ends[i / 3 % 20], ends[i / 400 % 20], ends[i / 8000 % 10]);
		strange_puts(&p, "GET");
		strange_puts(&p, path);
		deliver(&(struct event_pipe_event){.provider = HOSTING, .id = REQUEST_EVENT_START, .time_ns = now_ns(), .data = p.data, .len = p.len,
						   .activity = activity});
		free(p.data);
		if (i % 8 == 0)
			send_call();
	}
	cr_expect_geq(shape_table_count(), SHAPE_ROUTES_MOST);
	for (unsigned i = 0; i < 500; i++)
		send_of_request();
	feeds_tick(&io);
	feeds_stop(&info, &io);
}

static void send_thrown(void)
{
	struct strange_payload p = {NULL, 0, 0};

	PUT_SOME(&p, "System.FormatException", "Shop.OrderException", "");
	PUT_SOME(&p, "Order 4711 of '" MARKER "' was not found", "password=" MARKER, MARKER, "not " MARKER " found", "it's " MARKER,
		 "the \xab" MARKER "\xbb key", "(" MARKER ")",
		 MARKER "-not-found", "invalid\t" MARKER "\r\n");
	strange_put(&p, strange_below(&s, 0xffffffff), 8);
	strange_put(&p, 0x80131537, 4);
	strange_put(&p, strange_below(&s, 0x10000), 2);
	strange_put(&p, 9, 2);
	send(0, EXCEPTION_THROWN, one_in(8) ? strange_below(&s, 4) : 1, &p, "ExceptionThrown_V1");
}

static void send_caught(void)
{
	struct strange_payload p = {NULL, 0, 0};

	strange_put(&p, 0x10000 + strange_below(&s, 64), 8);
	strange_put(&p, 0x5678, 8);
	PUT_SOME(&p, "Shop.Cart.Total", MARKER);
	strange_put(&p, 9, 2);
	send(0, EXCEPTION_CATCH_START, 0, &p, "ExceptionCatchStart");
}

/* More sites and kinds than there is room for; the agent looks now and then. */
Test(feeds, strange_exceptions_stay_within_bounds_and_nothing_of_messages_leaves)
{
	begin(CHANNEL_EXCEPTIONS_START, CHANNEL_EXCEPTIONS_CATCHERS);
	for (unsigned i = 1; i <= 20000; i++) {
		if (one_in(3))
			send_caught();
		else
			send_thrown();
		if (i % 512 == 0 && i < 10000)
			feeds_tick(&io);
	}
	feeds_tick(&io);
	feeds_stop(&info, &io);
	cr_expect_gt(frames, 10);
}

static void send_sampled(void)
{
	struct strange_payload p = {NULL, 0, 0};

	strange_put(&p, strange_below(&s, 4), 4);
	strange_put(&p, 9, 2);
	strange_put(&p, 0x1000 + strange_below(&s, 4096), 8);
	PUT_SOME(&p, "System.String", "Shop.Cart", "");
	strange_put(&p, 0x5678, 8);
	strange_put(&p, one_in(8) ? UINT64_MAX : one_in(2) ? 24 : strange_below(&s, 1u << 30), 8);
	strange_put(&p, 17, 8);
	send(0, ALLOCATION_SAMPLED, 0, &p, "AllocationSampled");
}

Test(feeds, strange_allocations_stay_within_bounds)
{
	begin(CHANNEL_ALLOCS_START, 0);
	for (unsigned i = 1; i <= 20000; i++) {
		send_sampled();
		if (i % 512 == 0 && i < 10000)
			feeds_tick(&io);
	}
	feeds_tick(&io);
	feeds_stop(&info, &io);
	cr_expect_gt(frames, 10);
}
