/* Context: any. */
#include "profiler/allocs/allocation_event.h"

#include "common/proto/wire.h"

/* Up to its NUL, which must be there. */
static void read_utf16_name(struct wire_reader *r, struct allocation_event *out)
{
	size_t from = r->pos, left = wire_left(r) / 2;
	const uint8_t *name = r->data + from;

	while (out->name_units < left && (name[2 * out->name_units] | name[2 * out->name_units + 1]))
		out->name_units++;
	out->name = name;
	wire_bytes(r, 2 * out->name_units + 2);
}

static void read_sampled(struct wire_reader *r, struct allocation_event *out)
{
	out->kind = wire_u32(r);
	wire_u16(r);
	out->type_id = wire_u64(r);
	read_utf16_name(r, out);
	wire_u64(r);
	out->size = wire_u64(r);
	wire_u64(r);
}

static void read_tick(struct wire_reader *r, struct allocation_event *out)
{
	wire_u32(r);
	out->kind = wire_u32(r);
	wire_u16(r);
	out->amount = wire_u64(r);
	out->type_id = wire_u64(r);
	read_utf16_name(r, out);
	wire_u32(r);
	wire_u64(r);
	out->size = wire_u64(r);
}

bool allocation_event_read(uint32_t id, uint32_t version, const uint8_t *data, size_t len, struct allocation_event *out)
{
	struct wire_reader r;

	*out = (struct allocation_event){0};
	wire_reader_init(&r, data, len);
	if (id == ALLOCATION_SAMPLED)
		read_sampled(&r, out);
	else if (id == ALLOCATION_TICK && version >= ALLOCATION_TICK_VERSION)
		read_tick(&r, out);
	else
		return false;
	return !r.bad && out->kind <= ALLOCATION_PINNED && out->size <= INT64_MAX && out->amount <= INT64_MAX;
}
