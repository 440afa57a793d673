/* The cursor over wire bytes against a naive model, and each payload of the profiler channel: what can be read is written and
 * read again, to the same bytes. First byte: which payload, or 0 for the cursor alone. */
#include "agent/attach/channel_il.h"
#include "agent/attach/code_client.h"
#include "common/proto/channel.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                                                                                       \
	do {                                                                                                                           \
		if (!(x))                                                                                                              \
			abort();                                                                                                       \
	} while (0)

/* Each byte of `ops` is a read; the model is an offset. */
static void check_reader(const uint8_t *data, size_t size)
{
	size_t ops = size / 4, at = 0, len = size - ops;
	const uint8_t *bytes = data + ops;
	struct wire_reader r;
	bool bad = false;

	wire_reader_init(&r, bytes, len);
	for (size_t i = 0; i < ops; i++) {
		size_t want = data[i] < 8 ? (size_t)1 << (data[i] & 3) : data[i];
		uint64_t expected = 0;
		bool number = data[i] < 8;
		bad = bad || want > len - at;
		for (size_t b = 0; !bad && number && b < want; b++)
			expected |= (uint64_t)bytes[at + b] << 8 * b;
		if (number)
			CHECK((want == 1   ? wire_u8(&r)
			       : want == 2 ? wire_u16(&r)
			       : want == 4 ? wire_u32(&r)
					   : wire_u64(&r)) == expected);
		else
			CHECK(wire_bytes(&r, want) == (bad ? NULL : bytes + at));
		at += bad ? 0 : want;
		CHECK(r.bad == bad && wire_left(&r) == (bad ? 0 : len - at));
	}
}

/* The same in a writer of as many bytes as the input has: nothing is written past the end. */
static void check_writer(const uint8_t *data, size_t size)
{
	uint8_t *out = malloc(size + 1);
	struct wire_writer w;
	size_t at = 0;
	bool bad = false;

	wire_writer_init(&w, out, size);
	for (size_t i = 0; i < size; i++) {
		size_t n = data[i] % (size + 1), prefix = data[i] & 0x80 ? 2 : 0;
		if (prefix)
			wire_put_u16(&w, (uint16_t)n);
		wire_put_bytes(&w, data, n);
		bool room = !bad && prefix <= size - at;
		at += room ? prefix : 0; /* the length may still fit where the bytes do not */
		bad = !room || n > size - at;
		CHECK(w.bad == bad);
		CHECK(bad || !prefix || (out[at - 2] == (n & 0xff) && out[at - 1] == n >> 8));
		CHECK(bad || memcmp(out + at, data, n) == 0);
		at += bad ? 0 : n;
		CHECK(w.pos == at);
	}
	free(out);
}

static bool same_text(struct channel_text a, struct channel_text b)
{
	return !a.data == !b.data && a.len == b.len && (!a.data || memcmp(a.data, b.data, a.len) == 0);
}

#define BEGIN(frame_type)                                                                                                              \
	static uint8_t bytes[CHANNEL_MAX_FRAME];                                                                                       \
	struct wire_writer w;                                                                                                          \
	struct channel_frame g;                                                                                                        \
	size_t used;                                                                                                                   \
	channel_begin(&w, bytes, sizeof bytes, frame_type)
#define END()                                                                                                                          \
	size_t size = channel_end(&w);                                                                                                 \
	CHECK(size && channel_next(bytes, size, &g, &used) == CHANNEL_FRAME && used == size)

static void check_hello(const struct channel_frame *f)
{
	struct channel_hello a = {0}, b = {0};

	if (!channel_get_hello(f, &a))
		return;
	BEGIN(f->type);
	channel_put_hello(&w, &a);
	END();
	CHECK(channel_get_hello(&g, &b) && same_text(a.library_version, b.library_version));
	CHECK(a.version == b.version && a.inner_pid == b.inner_pid && a.runtime_build == b.runtime_build);
	CHECK(memcmp(a.nonce, b.nonce, sizeof a.nonce) == 0);
}

static void check_function(const struct channel_frame *f)
{
	struct channel_function a, b;

	if (!channel_get_function(f, &a))
		return;
	BEGIN(f->type);
	channel_put_function(&w, &a);
	END();
	CHECK(channel_get_function(&g, &b) && a.id == b.id && a.flags == b.flags && a.dynamic_start_ns == b.dynamic_start_ns);
	CHECK(same_text(a.module, b.module) && same_text(a.type, b.type) && same_text(a.type_args, b.type_args));
	CHECK(same_text(a.method, b.method) && same_text(a.method_args, b.method_args) && same_text(a.params, b.params));
	CHECK(a.token == b.token && a.image == b.image && same_text(a.path, b.path));
}

static void check_numbers(const struct channel_frame *f)
{
	struct channel_sampling s, t;
	struct channel_account a, b;

	memset(&s, 0, sizeof s), memset(&t, 0, sizeof t); /* what is between the fields is compared, too */
	memset(&a, 0, sizeof a), memset(&b, 0, sizeof b);
	if (channel_get_sampling(f, &s)) {
		BEGIN(f->type);
		channel_put_sampling(&w, &s);
		END();
		CHECK(channel_get_sampling(&g, &t) && memcmp(&s, &t, sizeof s) == 0);
	}
	if (channel_get_account(f, &a)) {
		BEGIN(f->type);
		channel_put_account(&w, &a);
		END();
		CHECK(channel_get_account(&g, &b) && memcmp(&a, &b, sizeof a) == 0);
	}
}

static void check_pause(const struct channel_frame *f)
{
	struct channel_pause a, b;

	if (!channel_get_pause(f, &a))
		return;
	BEGIN(f->type);
	channel_put_pause(&w, &a);
	END();
	CHECK(channel_get_pause(&g, &b) && a.kind == b.kind && a.end_ns == b.end_ns && a.duration_ns == b.duration_ns && a.budget_ns == b.budget_ns);
}

static void check_lapsed(const struct channel_frame *f)
{
	uint32_t a, b;

	if (!channel_get_lapsed(f, &a))
		return;
	BEGIN(f->type);
	channel_put_lapsed(&w, a);
	END();
	CHECK(channel_get_lapsed(&g, &b) && a == b);
}

static void check_error(const struct channel_frame *f)
{
	struct channel_error a, b;

	if (!channel_get_error(f, &a))
		return;
	BEGIN(f->type);
	channel_put_error(&w, &a);
	END();
	CHECK(channel_get_error(&g, &b) && a.request == b.request && a.code == b.code && same_text(a.message, b.message));
}

static void check_samples(const struct channel_frame *f)
{
	static struct channel_sample_record s;
	struct wire_reader r;
	size_t before;

	wire_reader_init(&r, f->payload, f->len);
	for (before = r.pos; wire_left(&r) && channel_get_sample(&r, &s); before = r.pos) {
		BEGIN(f->type);
		channel_put_sample(&w, &s);
		END();
		CHECK(s.depth <= CHANNEL_MAX_DEPTH && g.len == r.pos - before);
		CHECK(memcmp(g.payload, f->payload + before, g.len) == 0);
	}
}

static void check_collections(const struct channel_frame *f)
{
	struct channel_collection c;
	struct wire_reader r;
	size_t before;

	wire_reader_init(&r, f->payload, f->len);
	for (before = 0; wire_left(&r) && channel_get_collection(&r, &c); before = r.pos) {
		BEGIN(f->type);
		channel_put_collection(&w, &c);
		END();
		CHECK(c.start_ns <= c.end_ns && g.len == r.pos - before && memcmp(g.payload, f->payload + before, g.len) == 0);
	}
}

static void check_counted(const struct channel_frame *f)
{
	struct wire_reader r;
	uint32_t count;

	if (channel_get_resolve(f, &r, &count))
		CHECK(count <= CHANNEL_MAX_RESOLVE && f->len == 4 + 8 * (size_t)count && r.pos == 4);
	if (channel_get_resolved(f, &r, &count))
		CHECK(count <= CHANNEL_MAX_RESOLVE && f->len == 4 + 12 * (size_t)count && r.pos == 4);
}

static void check_code(const struct channel_frame *f)
{
	struct channel_code_body bodies[3] = {{0}};
	struct code_client c = {.out = bodies, .expected = 3};
	struct wire_reader r;
	uint32_t count;

	if (channel_get_code_ask(f, &r, &count))
		CHECK(count <= CHANNEL_MAX_CODE && f->len == 4 + 8 * (size_t)count && r.pos == 4);
	bool well = channel_get_code_bodies(f, &r, &count);
	for (uint32_t i = 0; well && i < count; i++) {
		uint8_t written[16];
		struct wire_writer w;
		size_t before = r.pos;
		struct channel_code_body body = channel_get_code_body(&r);
		wire_writer_init(&w, written, sizeof written);
		channel_put_code_body(&w, &body);
		CHECK(w.pos == r.pos - before && memcmp(written, f->payload + before, w.pos) == 0);
	}
	struct err e = ERR_INIT;
	int taken = code_client_frame(&c, f, &e);
	CHECK(f->type != CHANNEL_CODE_BODIES || (taken == 0) == (well && count == 3));
	CHECK((e.kind == ERR_NONE) == (taken == 0));
}

static void check_il(const struct channel_frame *f)
{
	uint32_t offsets[3], count;
	struct channel_il il = {.out = offsets, .expected = 3};
	struct err e = ERR_INIT;
	struct wire_reader r;

	if (channel_get_il_ask(f, &r, &count))
		CHECK(count <= CHANNEL_MAX_CODE && f->len == 4 + 8 * (size_t)count && r.pos == 4);
	bool well = channel_get_il_offsets(f, &r, &count);
	int taken = channel_il_take(&il, f, &e);
	CHECK((taken == 0) == (well && count == 3) && (e.kind == ERR_NONE) == (taken == 0) && (taken < 0 || !il.out));
}

static void check_client_data(const uint8_t *data, size_t size)
{
	uint8_t out[CHANNEL_CLIENT_DATA_MAX];
	struct channel_client_data d, again;
	struct wire_writer w;

	if (!channel_get_client_data(data, size, &d))
		return;
	CHECK(d.version == CHANNEL_VERSION && d.path.len > 0 && d.path.len <= CHANNEL_MAX_PATH);
	wire_writer_init(&w, out, sizeof out);
	channel_put_client_data(&w, &d);
	CHECK(!w.bad && channel_get_client_data(out, w.pos, &again) && same_text(d.path, again.path) && d.lease_ms == again.lease_ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct channel_frame f;

	if (size == 0 || size > CHANNEL_MAX_PAYLOAD)
		return 0;
	check_reader(data, size);
	if (size < 4096)
		check_writer(data, size);
	uint16_t type = (uint16_t)((data[0] & 0x10 ? 0x0200 : 0x0100) | (data[0] & 0x20 ? 0x40 : 0) | (data[0] & 0xf));
	f = (struct channel_frame){.type = type, .payload = data + 1, .len = (uint32_t)size - 1};
	check_hello(&f);
	check_function(&f);
	check_numbers(&f);
	check_pause(&f);
	check_lapsed(&f);
	check_error(&f);
	if (f.type == CHANNEL_SAMPLES)
		check_samples(&f);
	if (f.type == CHANNEL_COLLECTIONS)
		check_collections(&f);
	check_counted(&f);
	check_code(&f);
	check_il(&f);
	check_client_data(data + 1, size - 1);
	return 0;
}
