#include "profiler/exceptions/exception_event.h"

#include "common/proto/wire.h"

#include <criterion/criterion.h>
#include <string.h>

static uint8_t payload[512];

static void put_units(struct wire_writer *w, const char *text)
{
	for (; *text; text++)
		wire_put_u16(w, (uint16_t)*text);
	wire_put_u16(w, 0);
}

static size_t thrown(const char *type, const char *message, uint16_t flags)
{
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	put_units(&w, type);
	put_units(&w, message);
	wire_put_u64(&w, 0x1234);
	wire_put_u32(&w, 0x80131537);
	wire_put_u16(&w, flags);
	wire_put_u16(&w, 9);
	return w.pos;
}

static size_t caught(uint64_t address)
{
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u64(&w, address);
	wire_put_u64(&w, 0x5678);
	put_units(&w, "Shop.Cart.Total");
	wire_put_u16(&w, 9);
	return w.pos;
}

Test(exception_event, a_throw_is_read)
{
	struct exception_thrown e;

	cr_assert(exception_thrown_read(1, payload, thrown("A.B", "no", EXCEPTION_HAS_INNER | EXCEPTION_RETHROWN), &e));
	cr_expect(e.type.units == 3 && memcmp(e.type.data, "A\0.\0B\0", 6) == 0);
	cr_expect(e.message.units == 2 && memcmp(e.message.data, "n\0o\0", 4) == 0);
	cr_expect(e.hresult == 0x80131537 && e.flags == (EXCEPTION_HAS_INNER | EXCEPTION_RETHROWN));
	cr_expect(exception_thrown_read(1, payload, thrown("", "", 0), &e) && e.type.units == 0 && e.message.units == 0);
	cr_expect_not(exception_thrown_read(0, payload, thrown("A", "b", 0), &e), "a version without a type");
}

Test(exception_event, each_cut_is_refused_and_more_is_not)
{
	struct exception_thrown e;
	size_t len = thrown("A.B", "no", 0);

	for (size_t i = 0; i < len; i++)
		cr_expect_not(exception_thrown_read(1, payload, i, &e), "%zu", i);
	cr_expect(exception_thrown_read(2, payload, len + 7, &e), "a later version may have more");
	len = caught(0x4000);
	for (size_t i = 0; i < len; i++)
		cr_expect_eq(exception_catch_read(payload, i), 0, "%zu", i);
	cr_expect_eq(exception_catch_read(payload, len), 0x4000);
}
