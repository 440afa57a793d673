#include "common/base/text.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

typedef int append_fn(struct buf *out, const char *s, size_t len);

struct row {
	const char *in;
	const char *json, *html, *printable;
};

static const struct row rows[] = {
	{"", "\"\"", "", ""},
	{"plain", "\"plain\"", "plain", "plain"},
	{"a\"b\\c", "\"a\\\"b\\\\c\"", "a&quot;b\\c", "a\"b\\c"},
	{"<script>&'", "\"\\u003cscript>&'\"", "&lt;script&gt;&amp;&#39;", "<script>&'"},
	{"line\nnext\t.", "\"line\\nnext\\t.\"", "line\nnext\t.", "line\\x0anext\\x09."},
	{"\x1b[31mred", "\"\\u001b[31mred\"", "U+001B[31mred", "\\x1b[31mred"},
	{"\xC3\xA9\xE2\x82\xAC", "\"\xC3\xA9\xE2\x82\xAC\"", "\xC3\xA9\xE2\x82\xAC", "\xC3\xA9\xE2\x82\xAC"},
	{"\xE2\x80\xAE" "evil", "\"\\u202eevil\"", "U+202Eevil", "\\u{202E}evil"},
	{"\xFF" "x", "\"\xEF\xBF\xBDx\"", "\xEF\xBF\xBDx", "\xEF\xBF\xBDx"},
	{"\xC0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"", "\xEF\xBF\xBD\xEF\xBF\xBD", "\xEF\xBF\xBD\xEF\xBF\xBD"},
	{"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD",
	 "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
	{"cut\xE2\x82", "\"cut\xEF\xBF\xBD\xEF\xBF\xBD\"", "cut\xEF\xBF\xBD\xEF\xBF\xBD", "cut\xEF\xBF\xBD\xEF\xBF\xBD"},
};

static void check(append_fn *append, const char *in, const char *expected)
{
	AUTO_BUF struct buf out;
	buf_init(&out, 1024);
	cr_assert_eq(append(&out, in, strlen(in)), 0);
	cr_expect_str_eq(buf_str(&out), expected, "'%s' became '%s', not '%s'", in, buf_str(&out), expected);
}

Test(text, escapes_for_each_place)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		check(text_append_json, rows[i].in, rows[i].json);
		check(text_append_html, rows[i].in, rows[i].html);
		check(text_append_printable, rows[i].in, rows[i].printable);
	}
}

Test(text, reports_a_full_buffer)
{
	AUTO_BUF struct buf out;
	buf_init(&out, 6);
	cr_expect_eq(text_append_json(&out, "abcd", 4), 0);
	buf_reset(&out);
	cr_expect_eq(text_append_json(&out, "abcde", 5), -1);
	cr_expect(out.full);
}

Test(text, cuts_on_sequence_boundaries)
{
	static const struct {
		const char *in;
		size_t max, expected;
	} cuts[] = {{"abc", 3, 3}, {"abc", 2, 2}, {"a\xC3\xA9", 2, 1}, {"a\xC3\xA9", 3, 3}, {"\xE2\x82\xAC", 2, 0}, {"", 0, 0}};
	for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
		cr_expect_eq(text_cut_utf8(cuts[i].in, cuts[i].max), cuts[i].expected, "row %zu", i);
}

Test(text, hex)
{
	char out[7] = "??????";
	text_hex("\x00\x9f\xF0", 3, out);
	cr_expect_str_eq(out, "009ff0");
	text_hex("", 0, out);
	cr_expect_str_eq(out, "");
}
