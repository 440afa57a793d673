/* Context: any. */
#include "profiler/exceptions/exception_event.h"

#include "common/proto/wire.h"

/* Up to its NUL, which must be there. */
static void read_utf16_text(struct wire_reader *r, struct utf16_text *out)
{
	size_t left = wire_left(r) / 2, units = 0;
	const uint8_t *text = r->data + r->pos;

	while (units < left && (text[2 * units] | text[2 * units + 1]))
		units++;
	*out = (struct utf16_text){text, units};
	wire_bytes(r, 2 * units + 2);
}

bool exception_thrown_read(uint32_t version, const uint8_t *data, size_t len, struct exception_thrown *out)
{
	struct wire_reader r;

	*out = (struct exception_thrown){0};
	if (version < 1)
		return false;
	wire_reader_init(&r, data, len);
	read_utf16_text(&r, &out->type);
	read_utf16_text(&r, &out->message);
	wire_u64(&r);
	out->hresult = wire_u32(&r);
	out->flags = wire_u16(&r);
	wire_u16(&r);
	return !r.bad;
}

uint64_t exception_catch_read(const uint8_t *data, size_t len)
{
	struct utf16_text name;
	struct wire_reader r;

	wire_reader_init(&r, data, len);
	uint64_t address = wire_u64(&r);
	wire_u64(&r);
	read_utf16_text(&r, &name);
	wire_u16(&r);
	return r.bad ? 0 : address;
}
