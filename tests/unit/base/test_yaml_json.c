#include "common/base/jsonx.h"

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
