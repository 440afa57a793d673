#include "common/base/jsonx.h"

#include "common/base/yaml_json.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(yaml_json, reads_scalars_as_kubernetes_does)
{
	static const struct {
		const char *yaml, *json;
	} rows[] = {
		{"a: 1", "{\"a\":1}"},
		{"a: '1'", "{\"a\":\"1\"}"},
		{"a: 1.5", "{\"a\":1.5}"},
		{"a: -3", "{\"a\":-3}"},
		{"a: true", "{\"a\":true}"},
		{"a: yes", "{\"a\":\"yes\"}"},
		{"a: on", "{\"a\":\"on\"}"},
		{"a: ~", "{\"a\":null}"},
		{"a:", "{\"a\":null}"},
		{"a: ''", "{\"a\":\"\"}"},
		{"a: 30s", "{\"a\":\"30s\"}"},
		{"a: 1e", "{\"a\":\"1e\"}"},
		{"a: .", "{\"a\":\".\"}"},
		{"a: [x, {b: 2}]", "{\"a\":[\"x\",{\"b\":2}]}"},
		{"---\na: |\n  one\n  two\n", "{\"a\":\"one\\ntwo\\n\"}"},
		{"{\"json\": [1, \"2\"]}", "{\"json\":[1,\"2\"]}"},
		{"plain", "\"plain\""},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err e = ERR_INIT;
		AUTO_JSON json_t *doc = jsonx_parse_yaml(rows[i].yaml, strlen(rows[i].yaml), "t", &e);
		cr_assert_not_null(doc, "'%s': %s", rows[i].yaml, e.message);
		char *text = jsonx_dump(doc, 1000, &e);
		cr_expect_str_eq(text, rows[i].json, "'%s' became %s", rows[i].yaml, text);
		free(text);
	}
}

Test(yaml_json, errors_have_line_and_column)
{
	static const struct {
		const char *yaml, *message;
	} rows[] = {
		{"", "t: empty document"},
		{"a: 1\na: 2", "t: line 2 column 1: the key stands twice in this mapping"},
		{"a: &x 1\nb: *x", "t: line 2 column 4: aliases are not supported; write the value out"},
		{"a: 1\n---\nb: 2", "t: line 2 column 1: only one document is expected"},
		{"? [a]\n: b", "t: line 1 column 3: a mapping's key must be a scalar"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err e = ERR_INIT;
		AUTO_JSON json_t *doc = jsonx_parse_yaml(rows[i].yaml, strlen(rows[i].yaml), "t", &e);
		cr_expect_null(doc);
		cr_expect_str_eq(e.message, rows[i].message);
	}
}

Test(yaml_json, nesting_is_bounded)
{
	char text[400];
	memset(text, '[', 200);
	memset(text + 200, ']', 200);
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse_yaml(text, sizeof text, "t", &e);
	cr_expect_null(doc);
	cr_expect_eq(e.kind, ERR_INVALID);
}

Test(yaml_json, bombs_of_aliases_are_refused_at_the_first)
{
	static const char laughs[] = "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b]\n";
	static const char merge[] = "base: &base {a: 1}\nmore:\n  <<: *base\n";
	static const char itself[] = "a: &a [*a]";
	const char *const bombs[] = {laughs, merge, itself};
	for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
		struct err e = ERR_INIT;
		AUTO_JSON json_t *doc = jsonx_parse_yaml(bombs[i], strlen(bombs[i]), "t", &e);
		cr_expect_null(doc, "bomb %zu", i);
		cr_expect_not_null(strstr(e.message, "aliases are not supported"), "bomb %zu: %s", i, e.message);
	}
}

Test(yaml_json, documents_are_bounded_in_values_and_depth)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 1 << 20);
	buf_putc(&text, '[');
	for (int i = 0; i < 100000; i++)
		buf_puts(&text, "1,");
	buf_putc(&text, ']');
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse_yaml(buf_str(&text), text.len, "t", &e);
	cr_expect_null(doc);
	cr_expect_not_null(strstr(e.message, "too many values"), "%s", e.message);
	for (int depth = 63; depth <= 65; depth++) {
		buf_reset(&text);
		for (int i = 0; i < depth; i++)
			buf_puts(&text, i % 2 ? "[" : "{a: ");
		buf_putc(&text, '1');
		for (int i = depth - 1; i >= 0; i--)
			buf_puts(&text, i % 2 ? "]" : "}");
		struct err deep = ERR_INIT;
		AUTO_JSON json_t *nested = jsonx_parse_yaml(buf_str(&text), text.len, "t", &deep);
		cr_expect_eq(nested != NULL, depth <= 64, "depth %d: %s", depth, deep.message);
	}
}

Test(yaml_json, duplicates_and_bytes_that_are_no_text_are_refused_anywhere)
{
	static const struct {
		const char *yaml;
		size_t len;
	} rows[] = {
		{"a: {b: 1, b: 2}", 15}, {"- a: 1\n  'a': 2", 16}, {"a: \xff", 4}, {"\xc3: 1", 4}, {"a: \"\\0\": 1", 9}, {"a: \x01", 4},
		{"\"a\\0b\": 1", 9}, {"a: [1, 2", 8}, {"a: 'open", 8}, {"\ta: 1", 5}, {"a: !!binary [", 13}, {"%YAML 9.9\n---\na", 15},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err e = ERR_INIT;
		AUTO_JSON json_t *doc = jsonx_parse_yaml(rows[i].yaml, rows[i].len, "t", &e);
		cr_expect_null(doc, "row %zu", i);
		cr_expect_eq(e.kind, ERR_INVALID, "row %zu: %s", i, e.message);
	}
}
