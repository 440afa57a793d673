/* Texts as strangers send them: of any length, those around the sizes of the library's tables most of all, of letters, of what parsers look for, of lone
 * surrogates, of NULs. The same ones in each run. Payloads end where what was allocated ends, so that AddressSanitizer sees a byte read behind one. */
#ifndef TESTS_STRANGE_TEXT_H
#define TESTS_STRANGE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define STRANGE_UNITS_MOST 8192 /* 16 KB */

struct strange {
	uint64_t state; /* begins with any number but 0 */
};

static inline uint32_t strange_below(struct strange *s, uint32_t n)
{
	s->state ^= s->state << 13;
	s->state ^= s->state >> 7;
	s->state ^= s->state << 17;
	return (uint32_t)(s->state >> 32) % n;
}

/* A length in units: mostly that of a table (of bytes, of units, of a word) or one beside it; the shortest, the longest, any. */
static inline size_t strange_length(struct strange *s)
{
	static const size_t sizes[] = {1, 2, 3, 10, 12, 16, 24, 25, 32, 36, 40, 64, 66, 80, 99, 120, 128, 155, 160, 170, 200,
				       255, 256, 400, 512, 600, 1024, 4096};
	uint32_t kind = strange_below(s, 16);

	if (kind == 0)
		return strange_below(s, 2);
	if (kind == 1)
		return STRANGE_UNITS_MOST - strange_below(s, 2);
	if (kind < 6)
		return strange_below(s, 200);
	return sizes[strange_below(s, sizeof sizes / sizeof *sizes)] + strange_below(s, 3) - 1;
}

/* `flavour`: one kind of characters all through a text. */
static inline uint16_t strange_unit(struct strange *s, uint32_t flavour)
{
	static const char signs[] = "/.-_{}[]()<>,;:!?'\"`$#@%&*+=~|^\\ \t\r\n";
	static const uint16_t odd[] = {0, 1, 0x7f, 0x80, 0xa0, 0xe9, 0xff, 0x100, 0x2018, 0x2019, 0x201c, 0x2028, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff,
				       0xe000, 0xfeff, 0xfffd, 0xffff};

	switch (flavour) {
	case 0:
		return (uint16_t)('a' + strange_below(s, 26));
	case 1: /* words of a path */
		return (uint16_t)(strange_below(s, 12) ? "aeiou"[strange_below(s, 5)] : '/');
	case 2:
		return (uint16_t)('0' + strange_below(s, 10));
	case 3:
		return (uint8_t)signs[strange_below(s, sizeof signs - 1)];
	case 4:
		return odd[strange_below(s, sizeof odd / sizeof *odd)];
	case 5:
		return (uint16_t)strange_below(s, 0x10000);
	default:
		return strange_unit(s, strange_below(s, 6));
	}
}
#define STRANGE_FLAVOURS 8

/* What is sent: little-endian, what is put at last is where the allocation ends once it is taken. */
struct strange_payload {
	uint8_t *data;
	size_t len, cap;
};

static inline void strange_put(struct strange_payload *p, uint64_t value, size_t bytes)
{
	if (p->len + bytes > p->cap)
		p->data = realloc(p->data, p->cap = 2 * (p->len + bytes));
	for (size_t i = 0; i < bytes; i++)
		p->data[p->len++] = (uint8_t)(value >> (8 * i));
}

/* ASCII, with its NUL. */
static inline void strange_puts(struct strange_payload *p, const char *text)
{
	do
		strange_put(p, (uint8_t)*text, 2);
	while (*text++);
}

/* A strange text; mostly with its NUL. */
static inline void strange_put_text(struct strange_payload *p, struct strange *s)
{
	size_t n = strange_length(s);
	uint32_t flavour = strange_below(s, STRANGE_FLAVOURS);

	for (size_t i = 0; i < n; i++) {
		uint16_t unit = strange_unit(s, flavour);
		strange_put(p, unit || strange_below(s, 8) == 0 ? unit : 'a', 2); /* a NUL ends it: not too often */
	}
	if (strange_below(s, 16))
		strange_put(p, 0, 2);
}

/* As long as it is, at times a byte or more shorter, on memory of that length; to be freed. The payload begins anew. */
static inline uint8_t *strange_take(struct strange_payload *p, struct strange *s, size_t *len)
{
	size_t cut = p->len && strange_below(s, 8) == 0 ? 1 + strange_below(s, (uint32_t)p->len) : 0;
	uint8_t *exact = malloc(p->len - cut ? p->len - cut : 1);

	*len = p->len - cut;
	if (*len)
		memcpy(exact, p->data, *len);
	free(p->data);
	*p = (struct strange_payload){NULL, 0, 0};
	return exact;
}

/* A shape as it may leave the process. */
static inline bool strange_is_printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

#endif
