/* Numbers in few bytes, in arrays of our own: LEB128, and zigzag for distances. Nothing is checked: who reads has written. */
#ifndef DRDOTNET_LEB128_H
#define DRDOTNET_LEB128_H

#include <stdint.h>

#define LEB128_MAX 10 /* bytes; 5 for the distance of two 32-bit numbers */

static inline uint8_t *leb128_put(uint8_t *at, uint64_t v)
{
	while (v >= 0x80) {
		*at++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*at++ = (uint8_t)v;
	return at;
}

static inline uint64_t leb128_get(const uint8_t **at)
{
	const uint8_t *p = *at;
	uint64_t v = *p & 0x7f;

	for (int shift = 7; *p++ & 0x80; shift += 7)
		v |= (uint64_t)(*p & 0x7f) << shift;
	*at = p;
	return v;
}

static inline uint8_t *leb128_put_distance(uint8_t *at, uint32_t from, uint32_t to)
{
	int64_t d = (int64_t)to - (int64_t)from;

	return leb128_put(at, (uint64_t)d << 1 ^ (uint64_t)(d >> 63));
}

static inline uint32_t leb128_get_distance(const uint8_t **at, uint32_t from)
{
	uint64_t z = leb128_get(at);

	return from + (uint32_t)(z >> 1 ^ (0 - (z & 1)));
}

#endif
