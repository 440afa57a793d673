/* Context: own thread, the application is stopped. */
#include "profiler/heap/string_digest.h"

#include "common/proto/difference.h"
#include "profiler/base/now.h"

#include <stddef.h>
#include <string.h>

#define BLOCK 64                  /* bytes: four lanes of two words */
#define CLOCK_BYTES (4u << 20)    /* a look at the clock after so many */

__extension__ typedef unsigned __int128 uint128;

struct lanes {
	uint64_t lane[4];
};

static inline uint64_t fold_product(uint64_t a, uint64_t b)
{
	uint128 product = (uint128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t load_u64(const unsigned char *p)
{
	uint64_t w;
	memcpy(&w, p, sizeof w);
	return w;
}

static inline uint64_t half_at(const unsigned char *p)
{
	uint32_t w;
	memcpy(&w, p, sizeof w);
	return w;
}

/* Sebastiano Vigna's splitmix64, as a way to spread a seed over many words. */
static WRAPS uint64_t next_word(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void string_digest_key_make(struct string_digest_key *out, const uint8_t seed[STRING_DIGEST_SEED_BYTES])
{
	uint64_t even = load_u64(seed), odd = load_u64(seed + 8);
	for (size_t i = 0; i < sizeof out->word / sizeof *out->word; i++)
		out->word[i] = next_word(i & 1 ? &odd : &even);
}

static inline void take_block(struct lanes *l, const struct string_digest_key *k, const unsigned char *p)
{
	for (size_t i = 0; i < 4; i++)
		l->lane[i] = fold_product(load_u64(p + 16 * i) ^ k->word[i], load_u64(p + 16 * i + 8) ^ l->lane[i]);
}

/* Blocks while they last; false: the deadline has passed. */
static bool take_blocks(struct lanes *l, const struct string_digest_key *k, const unsigned char **p, size_t *left, uint64_t deadline_ns)
{
	size_t until_clock = CLOCK_BYTES;
	while (*left > BLOCK) {
		take_block(l, k, *p);
		*p += BLOCK;
		*left -= BLOCK;
		until_clock = difference(until_clock, BLOCK);
		if (until_clock == 0) {
			if (now_ns() > deadline_ns)
				return false;
			until_clock = CLOCK_BYTES;
		}
	}
	return true;
}

/* The last 0..64 bytes, an even number: by words that may overlap (the length is part of the digest, so nothing is ambiguous). */
static uint64_t take_rest(uint64_t h, const struct string_digest_key *k, const unsigned char *p, size_t left)
{
	for (; left > 16; p += 16, left -= 16)
		h = fold_product(load_u64(p) ^ k->word[4], load_u64(p + 8) ^ h);
	uint64_t a = 0, b = 0;
	if (left >= 8) {
		a = load_u64(p);
		b = load_u64(p + left - 8);
	} else if (left >= 4) {
		a = half_at(p);
		b = half_at(p + left - 4);
	} else if (left) {
		a = (uint64_t)p[0] | (uint64_t)p[1] << 8;
	}
	return fold_product(a ^ k->word[5], b ^ h);
}

static const uint8_t ascii_classes[128] = {
	[0 ... 8] = STRING_CLASS_CONTROL,          ['\t' ... '\r'] = STRING_CLASS_SPACE,
	[14 ... 31] = STRING_CLASS_CONTROL,        [' '] = STRING_CLASS_SPACE,
	['!' ... '/'] = STRING_CLASS_PUNCTUATION,  ['0' ... '9'] = STRING_CLASS_DIGIT,
	[':' ... '@'] = STRING_CLASS_PUNCTUATION,  ['A' ... 'Z'] = STRING_CLASS_UPPER,
	['[' ... '`'] = STRING_CLASS_PUNCTUATION,  ['a' ... 'z'] = STRING_CLASS_LOWER,
	['{' ... '~'] = STRING_CLASS_PUNCTUATION,  [127] = STRING_CLASS_CONTROL,
};

static inline uint8_t char_class(uint16_t c)
{
	if (c < 128)
		return ascii_classes[c];
	return (c & 0xf800) == 0xd800 ? STRING_CLASS_SURROGATE : STRING_CLASS_OTHER;
}

/* By four units at a time where all are ASCII: this is most of the time that a short string takes. */
static uint8_t classes_of(const uint16_t *units, uint32_t count)
{
	uint8_t classes = 0;
	uint32_t i = 0;
	if (count > STRING_CLASS_CHARS)
		count = STRING_CLASS_CHARS;
	for (; count - i >= 4; i += 4) {
		uint64_t w = load_u64((const unsigned char *)(units + i));
		if (w & UINT64_C(0xff80ff80ff80ff80))
			classes |= char_class(units[i]) | char_class(units[i + 1]) | char_class(units[i + 2]) | char_class(units[i + 3]);
		else
			classes |= ascii_classes[w & 127] | ascii_classes[w >> 16 & 127] | ascii_classes[w >> 32 & 127] | ascii_classes[w >> 48];
	}
	for (; i < count; i++)
		classes |= char_class(units[i]);
	return classes;
}

bool string_digest_make(const struct string_digest_key *key, const uint16_t *units, uint32_t count, uint64_t deadline_ns,
			struct string_digest *out)
{
	const unsigned char *p = (const unsigned char *)units;
	size_t left = (size_t)count * 2;
	uint64_t h = key->word[6];
	if (left > BLOCK) {
		struct lanes l = {{h, key->word[7], key->word[4], key->word[5]}};
		if (!take_blocks(&l, key, &p, &left, deadline_ns))
			return false;
		h = fold_product(l.lane[0] ^ key->word[7], l.lane[1]) ^ fold_product(l.lane[2] ^ key->word[5], l.lane[3]);
	}
	h = take_rest(h, key, p, left);
	out->hash = fold_product(h ^ key->word[7], (uint64_t)count ^ key->word[6]);
	out->classes = classes_of(units, count);
	return true;
}
