/* Context: any. */
#include "profiler/requests/grpc_method_il.h"

#include "common/proto/wire.h"

#include <stdbool.h>

#define LDC_I4_0 0x16
#define LDC_I4_3 0x19
#define SWITCH 0x45
#define LDSTR 0x72
#define LDSFLD 0x7e
#define STSFLD 0x80
#define TWO_BYTES 0xfe
#define NAMES 4 /* constants of a constructor that may be the service's name */

/* Bytes of operands, of instructions from the first to the last one; others have none. */
static const struct {
	uint8_t first, last, bytes;
} operands[] = {
	{0x0e, 0x13, 1}, {0x1f, 0x1f, 1}, {0x20, 0x20, 4}, {0x21, 0x21, 8}, {0x22, 0x22, 4}, {0x23, 0x23, 8}, {0x27, 0x29, 4}, {0x2b, 0x37, 1}, {0x38, 0x44, 4},
	{0x6f, 0x75, 4}, {0x79, 0x79, 4}, {0x7b, 0x81, 4}, {0x8c, 0x8d, 4}, {0x8f, 0x8f, 4}, {0xa3, 0xa5, 4}, {0xc2, 0xc2, 4}, {0xc6, 0xc6, 4}, {0xd0, 0xd0, 4},
	{0xdd, 0xdd, 4}, {0xde, 0xde, 1},
}, second[] = { /* after TWO_BYTES */
	{0x06, 0x07, 4}, {0x09, 0x0e, 2}, {0x12, 0x12, 1}, {0x15, 0x16, 4}, {0x19, 0x19, 1}, {0x1c, 0x1c, 4},
};

static size_t bytes_after(struct wire_reader *r, uint8_t code)
{
	size_t bytes = 0;
	if (code == SWITCH) {
		uint32_t targets = wire_u32(r);
		return targets <= wire_left(r) / 4 ? 4 * (size_t)targets : wire_left(r) + 1;
	}
	if (code == TWO_BYTES) {
		uint8_t more = wire_u8(r);
		for (size_t i = 0; i < sizeof second / sizeof *second; i++)
			bytes = more >= second[i].first && more <= second[i].last ? second[i].bytes : bytes;
		return bytes;
	}
	for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
		bytes = code >= operands[i].first && code <= operands[i].last ? operands[i].bytes : bytes;
	return bytes;
}

struct il_instruction {
	uint8_t code;
	uint32_t token;
};

static bool next_instruction(struct wire_reader *r, struct il_instruction *out)
{
	if (!wire_left(r))
		return false;
	out->code = wire_u8(r);
	size_t bytes = bytes_after(r, out->code);
	out->token = 0;
	if (bytes == 4 && out->code != SWITCH && out->code != TWO_BYTES)
		out->token = wire_u32(r);
	else if (bytes)
		wire_bytes(r, bytes);
	return !r->bad;
}

/* The code without its header, ECMA-335 II.25.4.2 and 3. */
static bool open_body(const uint8_t *body, size_t len, struct wire_reader *r)
{
	wire_reader_init(r, body, len);
	uint8_t first = wire_u8(r);
	size_t bytes = first >> 2;
	if ((first & 3) == 3) {
		wire_reader_init(r, body, len);
		wire_u32(r); /* flags and stack */
		bytes = wire_u32(r);
		wire_u32(r); /* locals */
	} else if ((first & 3) != 2) {
		return false;
	}
	if (r->bad || bytes > wire_left(r))
		return false;
	wire_reader_init(r, r->data + r->pos, bytes);
	return true;
}

struct constant { /* a static field, and the string that is put there */
	uint32_t field, text;
};

static uint32_t text_in(const struct constant *names, unsigned count, uint32_t field)
{
	for (unsigned i = 0; i < count; i++)
		if (names[i].field == field)
			return names[i].text;
	return 0;
}

unsigned grpc_method_il_read(const uint8_t *body, size_t len, struct grpc_method_il *out, unsigned most)
{
	struct il_instruction last[3] = {{0, 0}, {0, 0}, {0, 0}}; /* the newest one last */
	struct constant names[NAMES];
	struct wire_reader r;
	unsigned count = 0, name_count = 0;

	if (!open_body(body, len, &r))
		return 0;
	while (count < most) {
		last[0] = last[1];
		last[1] = last[2];
		if (!next_instruction(&r, &last[2]))
			break;
		if (last[1].code == LDSTR && last[2].code == STSFLD && name_count < NAMES)
			names[name_count++] = (struct constant){last[2].token, last[1].token};
		if (last[0].code < LDC_I4_0 || last[0].code > LDC_I4_3 || last[1].code != LDSFLD || last[2].code != LDSTR)
			continue;
		uint32_t service = text_in(names, name_count, last[1].token);
		if (service)
			out[count++] = (struct grpc_method_il){service, last[2].token, last[0].code - LDC_I4_0};
	}
	return count;
}
