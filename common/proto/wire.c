#include "common/proto/wire.h"

#include "common/proto/difference.h"

#include <string.h>

void wire_reader_init(struct wire_reader *r, const void *data, size_t len)
{
	*r = (struct wire_reader){.data = data, .len = len};
}

const uint8_t *wire_bytes(struct wire_reader *r, size_t n)
{
	if (r->bad || n > difference(r->len, r->pos)) {
		r->bad = true;
		return NULL;
	}
	const uint8_t *p = r->data + r->pos;
	r->pos += n;
	return p;
}

static uint64_t read_le(struct wire_reader *r, size_t n)
{
	const uint8_t *p = wire_bytes(r, n);
	uint64_t v = 0;
	for (size_t i = 0; p && i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

uint8_t wire_u8(struct wire_reader *r)
{
	return (uint8_t)read_le(r, 1);
}

uint16_t wire_u16(struct wire_reader *r)
{
	return (uint16_t)read_le(r, 2);
}

uint32_t wire_u32(struct wire_reader *r)
{
	return (uint32_t)read_le(r, 4);
}

uint64_t wire_u64(struct wire_reader *r)
{
	return read_le(r, 8);
}

void wire_writer_init(struct wire_writer *w, void *data, size_t cap)
{
	*w = (struct wire_writer){.data = data, .cap = cap};
}

void wire_put_bytes(struct wire_writer *w, const void *data, size_t n)
{
	if (w->bad || n > difference(w->cap, w->pos)) {
		w->bad = true;
		return;
	}
	if (n)
		memcpy(w->data + w->pos, data, n);
	w->pos += n;
}

static void put_wire_le(struct wire_writer *w, uint64_t v, size_t n)
{
	uint8_t bytes[8];
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	wire_put_bytes(w, bytes, n);
}

void wire_put_u8(struct wire_writer *w, uint8_t v)
{
	put_wire_le(w, v, 1);
}

void wire_put_u16(struct wire_writer *w, uint16_t v)
{
	put_wire_le(w, v, 2);
}

void wire_put_u32(struct wire_writer *w, uint32_t v)
{
	put_wire_le(w, v, 4);
}

void wire_put_u64(struct wire_writer *w, uint64_t v)
{
	put_wire_le(w, v, 8);
}
