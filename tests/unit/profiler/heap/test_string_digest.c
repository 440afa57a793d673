#include "profiler/heap/string_digest.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOREVER UINT64_MAX

static struct string_digest_key key_of(uint8_t first)
{
	uint8_t seed[STRING_DIGEST_SEED_BYTES] = {first, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	struct string_digest_key k;
	string_digest_key_make(&k, seed);
	return k;
}

static struct string_digest digest_of(const struct string_digest_key *k, const uint16_t *units, uint32_t count)
{
	struct string_digest d = {0};
	cr_assert(string_digest_make(k, units, count, FOREVER, &d));
	return d;
}

/* xorshift64*: the same numbers each time. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1du;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static size_t count_equal(uint64_t *hashes, size_t count)
{
	size_t equal = 0;
	qsort(hashes, count, sizeof *hashes, by_value);
	for (size_t i = 1; i < count; i++)
		equal += hashes[i] == hashes[i - 1];
	return equal;
}

/* Each length around the edges of words and blocks, in memory of exactly that size: ASan sees a read beyond. */
Test(string_digest, equal_strings_are_equal_at_any_place_and_any_changed_unit_shows)
{
	static const uint32_t around[] = {0, 2, 4, 8, 16, 32, 64, 96, 128, 1024};
	struct string_digest_key k = key_of(1);
	for (size_t r = 0; r < sizeof around / sizeof *around; r++) {
		for (uint32_t count = around[r] ? around[r] - 1 : 0; count <= around[r] + 1; count++) {
			uint64_t state = 42 + count;
			uint16_t *first = malloc(count * 2 + 1), *moved = malloc((count + 3) * 2 + 1);
			for (uint32_t i = 0; i < count; i++)
				first[i] = (uint16_t)next_random(&state);
			uint64_t hash = digest_of(&k, first, count).hash;
			for (int shift = 0; shift < 4; shift++) {
				memcpy(moved + shift, first, count * 2);
				cr_expect_eq(digest_of(&k, moved + shift, count).hash, hash, "%u units moved by %d", count, shift);
			}
			for (uint32_t i = 0; i < count; i++) {
				first[i] ^= (uint16_t)(1u << (i & 15));
				cr_expect_neq(digest_of(&k, first, count).hash, hash, "unit %u of %u changed", i, count);
				first[i] ^= (uint16_t)(1u << (i & 15));
			}
			if (count) {
				cr_expect_neq(digest_of(&k, first, count - 1).hash, hash, "%u units and one fewer", count);
				cr_expect_neq(digest_of(&k, first + 1, count - 1).hash, hash, "%u units without the first", count);
			}
			free(first);
			free(moved);
		}
	}
}

Test(string_digest, zeros_of_each_length_are_different)
{
	static const uint16_t zeros[2000];
	static uint64_t hashes[2001];
	struct string_digest_key k = key_of(2);
	for (uint32_t count = 0; count <= 2000; count++)
		hashes[count] = digest_of(&k, zeros, count).hash;
	cr_expect_eq(count_equal(hashes, 2001), 0);
}

Test(string_digest, swapped_words_and_lanes_are_different)
{
	struct string_digest_key k = key_of(3);
	uint16_t units[64];
	for (uint16_t i = 0; i < 64; i++)
		units[i] = (uint16_t)(i * 257);
	uint64_t hash = digest_of(&k, units, 64).hash;
	for (size_t a = 0; a < 64; a += 4) {
		for (size_t b = a + 4; b < 64; b += 4) {
			uint16_t other[64];
			memcpy(other, units, sizeof other);
			memcpy(other + a, units + b, 8);
			memcpy(other + b, units + a, 8);
			cr_expect_neq(digest_of(&k, other, 64).hash, hash, "words at %zu and %zu", a, b);
		}
	}
}

/* Numbers as text, as applications have them: a quarter of a million strings that differ in a digit or two. */
Test(string_digest, like_strings_spread_over_all_bits)
{
	enum { COUNT = 250000 };
	uint64_t *hashes = malloc(COUNT * sizeof *hashes);
	uint32_t ones[64] = {0}, low[256] = {0}, high[256] = {0};
	struct string_digest_key k = key_of(4);
	for (int i = 0; i < COUNT; i++) {
		char text[32];
		uint16_t units[32];
		int n = snprintf(text, sizeof text, "order-%d", i);
		for (int c = 0; c < n; c++)
			units[c] = (uint16_t)text[c];
		uint64_t h = hashes[i] = digest_of(&k, units, (uint32_t)n).hash;
		for (int bit = 0; bit < 64; bit++)
			ones[bit] += h >> bit & 1;
		low[h & 255]++;
		high[h >> 56]++;
	}
	for (int bit = 0; bit < 64; bit++) /* half of them, within 6 sigma */
		cr_expect(ones[bit] > COUNT / 2 - 1500 && ones[bit] < COUNT / 2 + 1500, "bit %d is set in %u", bit, ones[bit]);
	for (int i = 0; i < 256; i++) { /* 977 each; sigma 31 */
		cr_expect(low[i] > 977 - 200 && low[i] < 977 + 200, "low byte %d: %u", i, low[i]);
		cr_expect(high[i] > 977 - 200 && high[i] < 977 + 200, "high byte %d: %u", i, high[i]);
	}
	cr_expect_eq(count_equal(hashes, COUNT), 0);
	free(hashes);
}

Test(string_digest, each_bit_of_the_text_moves_half_of_the_digest)
{
	static const uint32_t lengths[] = {1, 2, 3, 4, 6, 8, 12, 31, 32, 33, 100};
	struct string_digest_key k = key_of(5);
	for (size_t r = 0; r < sizeof lengths / sizeof *lengths; r++) {
		uint16_t units[100];
		uint64_t state = 7, moved = 0, tries = 0;
		for (int round = 0; round < 40; round++) {
			for (uint32_t i = 0; i < lengths[r]; i++)
				units[i] = (uint16_t)next_random(&state);
			uint64_t hash = digest_of(&k, units, lengths[r]).hash;
			for (uint32_t bit = 0; bit < lengths[r] * 16; bit++, tries++) {
				units[bit / 16] ^= (uint16_t)(1u << bit % 16);
				moved += (uint64_t)__builtin_popcountll(hash ^ digest_of(&k, units, lengths[r]).hash);
				units[bit / 16] ^= (uint16_t)(1u << bit % 16);
			}
		}
		cr_expect(moved > tries * 31 && moved < tries * 33, "%u units: %g bits of 64", lengths[r], (double)moved / (double)tries);
	}
}

Test(string_digest, another_key_gives_other_digests)
{
	static const uint16_t units[] = {'7', '7', '7', '7', '7', '7'};
	uint64_t hashes[256];
	for (int i = 0; i < 256; i++) {
		struct string_digest_key k = key_of((uint8_t)i);
		hashes[i] = digest_of(&k, units, 6).hash;
	}
	cr_expect_eq(count_equal(hashes, 256), 0);
}

Test(string_digest, kinds_of_characters)
{
	static const struct {
		uint16_t units[8];
		uint32_t count;
		unsigned classes;
	} rows[] = {
		{{0}, 0, 0},
		{{'0', '9'}, 2, STRING_CLASS_DIGIT},
		{{'/'}, 1, STRING_CLASS_PUNCTUATION},
		{{':', '@', '[', '`', '{', '~', '!'}, 7, STRING_CLASS_PUNCTUATION},
		{{'A', 'Z'}, 2, STRING_CLASS_UPPER},
		{{'a', 'z'}, 2, STRING_CLASS_LOWER},
		{{' ', '\t', '\r', '\n', '\v', '\f'}, 6, STRING_CLASS_SPACE},
		{{0, 8}, 2, STRING_CLASS_CONTROL},
		{{14, 31, 127}, 3, STRING_CLASS_CONTROL},
		{{128, 0xd7ff, 0xe000, 0xffff}, 4, STRING_CLASS_OTHER},
		{{0xd800}, 1, STRING_CLASS_SURROGATE},
		{{0xdfff}, 1, STRING_CLASS_SURROGATE},
		{{'7', 0, 0xe9, 'x'}, 4, STRING_CLASS_DIGIT | STRING_CLASS_CONTROL | STRING_CLASS_OTHER | STRING_CLASS_LOWER},
	};
	struct string_digest_key k = key_of(6);
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
		cr_expect_eq(digest_of(&k, rows[r].units, rows[r].count).classes, rows[r].classes, "row %zu", r);
	uint16_t late[STRING_CLASS_CHARS + 1];
	for (size_t i = 0; i < STRING_CLASS_CHARS; i++)
		late[i] = 'a';
	late[STRING_CLASS_CHARS] = '1';
	cr_expect_eq(digest_of(&k, late, STRING_CLASS_CHARS + 1).classes, STRING_CLASS_LOWER);
	late[STRING_CLASS_CHARS - 1] = '1';
	cr_expect_eq(digest_of(&k, late, STRING_CLASS_CHARS).classes, STRING_CLASS_LOWER | STRING_CLASS_DIGIT);
}

Test(string_digest, a_passed_deadline_ends_only_very_long_strings)
{
	enum { COUNT = 3 << 20 };
	uint16_t *units = calloc(COUNT, sizeof *units);
	struct string_digest_key k = key_of(7);
	struct string_digest d = {99, 9};
	cr_expect_not(string_digest_make(&k, units, COUNT, 0, &d));
	cr_expect(d.hash == 99 && d.classes == 9);
	cr_expect(string_digest_make(&k, units, 1 << 20, 0, &d));
	cr_expect(string_digest_make(&k, units, COUNT, FOREVER, &d));
	uint64_t hash = d.hash;
	units[COUNT - 1] = 1;
	cr_expect_neq(digest_of(&k, units, COUNT).hash, hash);
	free(units);
}
