#include "agent/attach/await_buffer.h"

#include "common/proto/wire.h"

#include <string.h>

#define VERSION 1
#define NUMBER_BYTES 10

enum record_id {
	SUSPEND_RUNTIME = 3,
	COMPLETE_RUNTIME = 4,
	RESUME_RUNTIME_STACK = 7,
	SUSPEND_MACHINE = 13,
	COMPLETE_MACHINE = 14,
	RESUME_MACHINE_STACK = 16,
	APPEND_MACHINE_STACK = 19,
	RESET_THREAD = 20,
	METADATA = 22,
	IDS = 24
};

void await_widths_init(struct await_widths *w)
{
	static const uint8_t bytes[IDS] = {[1] = 1, [2] = 1, [5] = 1, [6] = 2, [7] = 2, [8] = 2, [11] = 1,
					   [12] = 1, [15] = 1, [16] = 2, [19] = 2, [22] = 2, [23] = 1};
	*w = (struct await_widths){{0}};
	memcpy(w->bytes, bytes, sizeof bytes);
}

/* Seven bits a byte, the lowest first. */
static uint64_t read_number(struct wire_reader *r)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < NUMBER_BYTES; i++) {
		uint8_t byte = wire_u8(r);
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			return value;
	}
	r->bad = true;
	return 0;
}

static int64_t read_signed(struct wire_reader *r)
{
	uint64_t u = read_number(r);
	return (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
}

static bool read_stack(struct wire_reader *r, enum record_id id, struct await_resume *out)
{
	wire_u16(r);
	uint8_t count = wire_u8(r);
	uint64_t at = 0;
	read_number(r);
	out->machine = id != RESUME_RUNTIME_STACK;
	for (unsigned i = 0; i < count && !r->bad; i++) {
		at = i ? at + (uint64_t)read_signed(r) : read_number(r);
		int32_t state = out->machine ? (int32_t)read_signed(r) : 0;
		if (r->bad || i >= AWAIT_BUFFER_DEPTH)
			continue;
		out->ips[i] = at;
		out->states[i] = state;
		out->depth = (uint16_t)(i + 1);
	}
	return !r->bad;
}

/* Four numbers and a byte, then u8 entries, each u8 id, u8 version, u8 length of the length. */
static bool read_metadata(struct wire_reader *r, struct await_widths *w)
{
	for (unsigned i = 0; i < 4; i++)
		read_number(r);
	wire_u8(r);
	unsigned count = wire_u8(r);
	for (unsigned i = 0; i < count && !r->bad; i++) {
		uint8_t id = wire_u8(r);
		wire_u8(r);
		uint8_t bytes = wire_u8(r);
		if (!r->bad && bytes <= 2)
			w->bytes[id] = bytes;
	}
	return !r->bad;
}

/* Of the others no more is needed than that they are passed over. */
static bool read_payload(const uint8_t *data, size_t len, uint8_t id, struct await_widths *w, struct await_resume *x, await_resume_fn *on_resume, void *ctx)
{
	struct wire_reader r;
	wire_reader_init(&r, data, len);
	if (id == METADATA)
		return read_metadata(&r, w);
	x->depth = 0;
	switch (id) {
	case RESUME_RUNTIME_STACK:
	case RESUME_MACHINE_STACK:
		x->kind = AWAIT_RESUMED;
		break;
	case APPEND_MACHINE_STACK:
		x->kind = AWAIT_GOES_ON;
		break;
	case SUSPEND_RUNTIME:
	case COMPLETE_RUNTIME:
	case SUSPEND_MACHINE:
	case COMPLETE_MACHINE:
		x->kind = AWAIT_ENDED;
		on_resume(ctx, x);
		return true;
	case RESET_THREAD:
		x->kind = AWAIT_RESET;
		on_resume(ctx, x);
		return true;
	default:
		return true;
	}
	if (!read_stack(&r, (enum record_id)id, x))
		return false;
	on_resume(ctx, x);
	return true;
}

bool await_buffer_read(const uint8_t *data, size_t len, struct await_widths *w, await_resume_fn *on_resume, void *ctx)
{
	struct await_resume x;
	struct wire_reader r;
	wire_reader_init(&r, data, len);
	uint8_t version = wire_u8(&r);
	uint32_t bytes = wire_u32(&r);
	wire_u32(&r);
	uint64_t tid = wire_u64(&r);
	wire_u32(&r);
	x.time_ns = wire_u64(&r);
	wire_u64(&r);
	if (r.bad || version != VERSION || bytes < r.pos || bytes > len || tid > UINT32_MAX)
		return false;
	x.tid = (uint32_t)tid;
	r.len = bytes;
	while (wire_left(&r)) {
		uint8_t id = wire_u8(&r);
		x.time_ns += read_number(&r);
		size_t size = w->bytes[id] == 0 ? 0 : w->bytes[id] == 1 ? wire_u8(&r) : wire_u16(&r);
		const uint8_t *payload = wire_bytes(&r, size);
		if (r.bad || !read_payload(payload, size, id, w, &x, on_resume, ctx))
			return false;
	}
	return true;
}
