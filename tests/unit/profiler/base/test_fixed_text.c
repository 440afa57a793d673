#include "profiler/base/text.h"

#include <criterion/criterion.h>
#include <string.h>

Test(fixed_text, utf16_becomes_utf8)
{
	static const struct {
		uint16_t in[8];
		const char *expected;
	} rows[] = {
		{{'A', 'b', 0}, "Ab"},
		{{0xe9, 0x20ac, 0}, "\xc3\xa9\xe2\x82\xac"},
		{{0xd83d, 0xde00, 'x', 0}, "\xf0\x9f\x98\x80x"},
		{{0xd83d, 'x', 0}, "\xef\xbf\xbdx"},
		{{0xde00, 0}, "\xef\xbf\xbd"},
		{{0xd83d, 0}, "\xef\xbf\xbd"},
		{{0}, ""},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char buf[32];
		struct text t = TEXT_ON(buf);
		text_put_utf16(&t, rows[i].in, 8);
		cr_expect(t.len == strlen(rows[i].expected) && memcmp(buf, rows[i].expected, t.len) == 0, "row %zu", i);
	}
}

Test(fixed_text, what_does_not_fit_is_not_torn)
{
	static const uint16_t euro[] = {0x20ac, 0x20ac, 0};

	for (size_t cap = 0; cap <= 7; cap++) {
		char buf[8];
		struct text t = {.data = buf, .cap = cap};
		text_put_utf16(&t, euro, 3);
		cr_expect_eq(t.len, cap / 3 * 3 > 6 ? 6 : cap / 3 * 3, "capacity %zu: %zu", cap, t.len);
		cr_expect_eq(t.cut, cap < 6, "capacity %zu", cap);
	}
}

Test(fixed_text, numbers)
{
	char buf[32];
	struct text t = TEXT_ON(buf);

	text_put_u32(&t, 0);
	text_puts(&t, " ");
	text_put_u32(&t, UINT32_MAX);
	cr_expect(t.len == 12 && memcmp(buf, "0 4294967295", 12) == 0, "%.*s", (int)t.len, buf);
}
