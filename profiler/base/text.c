/* Context: own thread. */
#include "profiler/base/text.h"

#include "common/proto/difference.h"

#include <string.h>

void text_put(struct text *t, const char *s, size_t n)
{
	if (t->cut || n > difference(t->cap, t->len)) {
		t->cut = true;
		return;
	}
	memcpy(t->data + t->len, s, n);
	t->len += n;
}

void text_puts(struct text *t, const char *s)
{
	text_put(t, s, strlen(s));
}

void text_put_u32(struct text *t, uint32_t v)
{
	char digits[10];
	size_t n = 0;

	do {
		digits[sizeof digits - ++n] = (char)('0' + v % 10); /* no wrap: a u32 has ten digits */
		v /= 10;
	} while (v);
	text_put(t, digits + sizeof digits - n, n);
}

static void put_code_point(struct text *t, uint32_t c)
{
	char b[4];
	size_t n;

	if (c < 0x80) {
		b[0] = (char)c;
		n = 1;
	} else if (c < 0x800) {
		b[0] = (char)(0xc0 | c >> 6);
		b[1] = (char)(0x80 | (c & 0x3f));
		n = 2;
	} else if (c < 0x10000) {
		b[0] = (char)(0xe0 | c >> 12);
		b[1] = (char)(0x80 | (c >> 6 & 0x3f));
		b[2] = (char)(0x80 | (c & 0x3f));
		n = 3;
	} else {
		b[0] = (char)(0xf0 | c >> 18);
		b[1] = (char)(0x80 | (c >> 12 & 0x3f));
		b[2] = (char)(0x80 | (c >> 6 & 0x3f));
		b[3] = (char)(0x80 | (c & 0x3f));
		n = 4;
	}
	text_put(t, b, n);
}

void text_put_utf16(struct text *t, const uint16_t *s, size_t n)
{
	for (size_t i = 0; i < n && s[i]; i++) {
		uint32_t c = s[i];
		bool high = c >= 0xd800 && c < 0xdc00, low = c >= 0xdc00 && c < 0xe000;
		if (high && i + 1 < n && s[i + 1] >= 0xdc00 && s[i + 1] < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + (s[++i] - 0xdc00u); /* no wrap: both are surrogates */
		} else if (high || low) {
			c = 0xfffd;
		}
		put_code_point(t, c);
	}
}
