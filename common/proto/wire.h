/* Cursor reader and writer for little-endian bytes on the caller's memory. No allocation, no I/O, no libc but memcpy:
 * the profiler library uses this tier too. After the first read or write that does not fit, the cursor is `bad`, gives
 * zeros and changes nothing more: check once at the end. */
#ifndef DRDOTNET_WIRE_H
#define DRDOTNET_WIRE_H

#include "common/proto/difference.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_reader {
	const uint8_t *data;
	size_t len, pos;
	bool bad;
};

struct wire_writer {
	uint8_t *data;
	size_t cap, pos;
	bool bad;
};

void wire_reader_init(struct wire_reader *r, const void *data, size_t len);
uint8_t wire_u8(struct wire_reader *r);
uint16_t wire_u16(struct wire_reader *r);
uint32_t wire_u32(struct wire_reader *r);
uint64_t wire_u64(struct wire_reader *r);
const uint8_t *wire_bytes(struct wire_reader *r, size_t n); /* borrowed; NULL when bad */
static inline size_t wire_left(const struct wire_reader *r) { return r->bad ? 0 : difference(r->len, r->pos); }

void wire_writer_init(struct wire_writer *w, void *data, size_t cap);
void wire_put_u8(struct wire_writer *w, uint8_t v);
void wire_put_u16(struct wire_writer *w, uint16_t v);
void wire_put_u32(struct wire_writer *w, uint32_t v);
void wire_put_u64(struct wire_writer *w, uint64_t v);
void wire_put_bytes(struct wire_writer *w, const void *data, size_t n);

#endif
