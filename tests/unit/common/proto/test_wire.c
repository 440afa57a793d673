#include "common/proto/wire.h"

#include <criterion/criterion.h>
#include <string.h>

Test(wire, numbers_are_little_endian)
{
	static const uint8_t bytes[] = {0x01, 0x03, 0x02, 0x07, 0x06, 0x05, 0x04, 0x0f, 0x0e, 0x0d, 0x0c, 0x0b, 0x0a, 0x09, 0x08};
	uint8_t out[sizeof bytes];
	struct wire_reader r;
	struct wire_writer w;

	wire_reader_init(&r, bytes, sizeof bytes);
	cr_expect_eq(wire_u8(&r), 0x01);
	cr_expect_eq(wire_u16(&r), 0x0203);
	cr_expect_eq(wire_u32(&r), 0x04050607);
	cr_expect_eq(wire_u64(&r), 0x08090a0b0c0d0e0f);
	cr_expect(!r.bad && wire_left(&r) == 0);
	wire_writer_init(&w, out, sizeof out);
	wire_put_u8(&w, 0x01);
	wire_put_u16(&w, 0x0203);
	wire_put_u32(&w, 0x04050607);
	wire_put_u64(&w, 0x08090a0b0c0d0e0f);
	cr_expect(!w.bad && w.pos == sizeof bytes);
	cr_expect_arr_eq(out, bytes, sizeof bytes);
}

Test(wire, a_reader_never_passes_its_end)
{
	static const uint8_t bytes[9] = {3, 0, 'a', 'b', 'c', 1, 2, 3, 4};

	for (size_t len = 0; len <= sizeof bytes; len++) {
		struct wire_reader r;
		wire_reader_init(&r, bytes, len);
		const uint8_t *s = wire_bytes(&r, wire_u16(&r));
		uint32_t v = wire_u32(&r);
		cr_expect_eq(s != NULL, len >= 5, "length %zu", len);
		cr_expect_eq(v, len == 9 ? 0x04030201 : 0, "length %zu: %x", len, v);
		cr_expect_eq(r.bad, len < 9, "length %zu", len);
		cr_expect_eq(wire_left(&r), 0, "length %zu", len);
	}
}

Test(wire, a_writer_never_passes_its_end)
{
	for (size_t cap = 0; cap <= 8; cap++) {
		uint8_t out[9];
		struct wire_writer w;
		memset(out, 0xee, sizeof out);
		wire_writer_init(&w, out, cap);
		wire_put_u16(&w, 3);
		wire_put_bytes(&w, "abc", 3);
		wire_put_u8(&w, 1);
		cr_expect_eq(w.bad, cap < 6, "capacity %zu", cap);
		cr_expect_eq(out[cap], 0xee, "capacity %zu", cap);
	}
}
