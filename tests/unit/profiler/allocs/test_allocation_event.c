#include "profiler/allocs/allocation_event.h"

#include "common/proto/wire.h"

#include <criterion/criterion.h>
#include <string.h>

static uint8_t payload[256];

static void put_name(struct wire_writer *w, const char *name)
{
	for (; *name; name++)
		wire_put_u16(w, (uint16_t)*name);
	wire_put_u16(w, 0);
}

static size_t sampled(uint32_t kind, const char *name, uint64_t size)
{
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u32(&w, kind);
	wire_put_u16(&w, 9);
	wire_put_u64(&w, 0x1234);
	put_name(&w, name);
	wire_put_u64(&w, 0x5678);
	wire_put_u64(&w, size);
	wire_put_u64(&w, 17);
	return w.pos;
}

static size_t tick(uint32_t kind, const char *name, uint64_t size, uint64_t amount)
{
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u32(&w, (uint32_t)amount);
	wire_put_u32(&w, kind);
	wire_put_u16(&w, 9);
	wire_put_u64(&w, amount);
	wire_put_u64(&w, 0x1234);
	put_name(&w, name);
	wire_put_u32(&w, 0);
	wire_put_u64(&w, 0x5678);
	wire_put_u64(&w, size);
	return w.pos;
}

Test(allocation_event, both_are_read)
{
	struct allocation_event a;

	cr_assert(allocation_event_read(ALLOCATION_SAMPLED, 0, payload, sampled(ALLOCATION_LARGE, "byte[]", 150024), &a));
	cr_expect(a.kind == ALLOCATION_LARGE && a.size == 150024 && a.amount == 0 && a.type_id == 0x1234 && a.name_units == 6);
	cr_expect_eq(memcmp(a.name, "b\0y\0t\0e\0[\0]\0", 12), 0);
	cr_assert(allocation_event_read(ALLOCATION_TICK, 4, payload, tick(ALLOCATION_SMALL, "", 24, 106600), &a));
	cr_expect(a.kind == ALLOCATION_SMALL && a.size == 24 && a.amount == 106600 && a.type_id == 0x1234 && a.name_units == 0);
}

Test(allocation_event, each_cut_is_refused_and_more_is_not)
{
	struct allocation_event a;
	size_t len = sampled(0, "Shop.Order", 48);

	for (size_t cut = 0; cut < len; cut++)
		cr_expect(!allocation_event_read(ALLOCATION_SAMPLED, 0, payload, cut, &a), "%zu", cut);
	cr_expect(allocation_event_read(ALLOCATION_SAMPLED, 0, payload, len + 1, &a));
	len = tick(0, "Shop.Order", 48, 1);
	for (size_t cut = 0; cut < len; cut++)
		cr_expect(!allocation_event_read(ALLOCATION_TICK, 4, payload, cut, &a), "%zu", cut);
	cr_expect(allocation_event_read(ALLOCATION_TICK, 5, payload, len + 8, &a));
}

Test(allocation_event, what_is_no_allocation_is_refused)
{
	struct allocation_event a;

	cr_expect(!allocation_event_read(ALLOCATION_TICK, 3, payload, tick(0, "x", 24, 1), &a), "without the object's size");
	cr_expect(!allocation_event_read(9, 4, payload, tick(0, "x", 24, 1), &a));
	cr_expect(!allocation_event_read(ALLOCATION_TICK, 4, payload, tick(3, "x", 24, 1), &a));
	cr_expect(!allocation_event_read(ALLOCATION_SAMPLED, 0, payload, sampled(0, "x", UINT64_MAX), &a));
	memset(payload, 0xff, sizeof payload);
	cr_expect(!allocation_event_read(ALLOCATION_SAMPLED, 0, payload, sizeof payload, &a), "a name without an end");
}
