#include "agent/profilers/strings/strings_analysis.h"
#include "agent/profilers/strings/strings_value.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_start(const uint16_t *units, size_t count, const char *text)
{
	struct buf b;
	buf_init(&b, 1024);
	strings_value_start(units, count, &b);
	cr_expect_str_eq(buf_str(&b), text);
	buf_fini(&b);
}

Test(strings_value, start_is_shown_whatever_it_is)
{
	expect_start((const uint16_t[]){'7', '7'}, 2, "77");
	expect_start(NULL, 0, "");
	expect_start((const uint16_t[]){'a', 0, 'b'}, 3, "a\\x00b");
	expect_start((const uint16_t[]){0x6f, 0xe9, 0x65e5}, 3, "oé日");
	expect_start((const uint16_t[]){0xd83e, 0xddc0}, 2, "🧀");
	expect_start((const uint16_t[]){0xd800, 'x'}, 2, "\\u{D800}x");
	expect_start((const uint16_t[]){'x', 0xdc00}, 2, "x\\u{DC00}");
	expect_start((const uint16_t[]){0xd800, 0xd83e, 0xddc0}, 3, "\\u{D800}🧀");
	expect_start((const uint16_t[]){0xd83e}, 1, "\\u{D83E}"); /* cut within a pair */
	expect_start((const uint16_t[]){0x202e, 'x'}, 2, "\\u{202E}x");
}

Test(strings_value, id_depends_on_the_secret)
{
	uint8_t secret[STRINGS_SECRET_BYTES] = {1}, other[STRINGS_SECRET_BYTES] = {2};
	char a[10], b[10];
	strings_value_id(secret, 42, 6, a);
	cr_expect_eq(strlen(a), 9);
	cr_expect_eq(strspn(a + 1, "0123456789abcdef"), 8);
	strings_value_id(secret, 42, 6, b);
	cr_expect_str_eq(a, b);
	strings_value_id(other, 42, 6, b);
	cr_expect_str_neq(a, b);
	strings_value_id(secret, 42, 7, b);
	cr_expect_str_neq(a, b);
	strings_value_id(secret, 43, 6, b);
	cr_expect_str_neq(a, b);
}
