#include "common/base/jsonx.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static json_t *parse(const char *text)
{
	struct err e = ERR_INIT;
	json_t *doc = jsonx_parse(text, strlen(text), "test", &e);
	cr_assert_not_null(doc, "%s", e.message);
	return doc;
}

Test(jsonx, refuses_what_is_not_one_document)
{
	static const char *const bad[] = {"", "{", "{\"a\":1,\"a\":2}", "{} x", "[1,]", "\xFF", "{\"a\":\"\xC0\x80\"}"};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct err e = ERR_INIT;
		json_t *doc = jsonx_parse(bad[i], strlen(bad[i]), "the answer", &e);
		cr_expect_null(doc, "'%s' was accepted", bad[i]);
		cr_expect_eq(e.kind, ERR_PROTOCOL);
		cr_expect(strncmp(e.message, "the answer: line ", 17) == 0, "%s", e.message);
	}
}

Test(jsonx, depth_is_bounded_and_brackets_in_strings_do_not_count)
{
	char text[400];
	for (int depth = 63; depth <= 65; depth++) {
		memset(text, '[', (size_t)depth);
		memset(text + depth, ']', (size_t)depth);
		struct err e = ERR_INIT;
		AUTO_JSON json_t *doc = jsonx_parse(text, 2 * (size_t)depth, "t", &e);
		cr_expect_eq(doc != NULL, depth <= 64, "depth %d", depth);
	}
	memset(text, '[', 200);
	text[0] = '"';
	strcpy(text + 200, "\\\"\"");
	AUTO_JSON json_t *doc = parse(text);
	cr_expect(json_is_string(doc));
}

Test(jsonx, errors_name_the_path_and_what_was_found)
{
	AUTO_JSON json_t *doc = parse("{\"s\":30,\"i\":\"x\",\"b\":1,\"o\":[],\"n\":null,\"f\":1.5,\"big\":11,\"nul\":\"a\\u0000b\"}");
	const char *s = NULL;
	int64_t i = 7;
	bool b = true;
	const json_t *o;
	static const struct {
		const char *key, *message;
		char type;
	} rows[] = {
		{"s", "spec.s: expected a string, found 30", 's'},     {"i", "spec.i: expected an integer, found \"x\"", 'i'},
		{"f", "spec.f: expected an integer, found 1.5", 'i'},  {"b", "spec.b: expected true or false, found 1", 'b'},
		{"o", "spec.o: expected an object, found a list", 'o'}, {"big", "spec.big: must be between 1 and 10, found 11", 'i'},
		{"gone", "spec.gone: required", 's'},                   {"n", "spec.n: required", 'i'},
		{"nul", "spec.nul: must not contain a NUL character", 's'},
	};
	for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
		struct err e = ERR_INIT;
		int rc = rows[r].type == 's'   ? jsonx_string(doc, "spec", rows[r].key, true, &s, &e)
			 : rows[r].type == 'i' ? jsonx_int(doc, "spec", rows[r].key, true, 1, 10, &i, &e)
			 : rows[r].type == 'b' ? jsonx_bool(doc, "spec", rows[r].key, true, &b, &e)
					       : jsonx_object(doc, "spec", rows[r].key, true, &o, &e);
		cr_expect_eq(rc, -1);
		cr_expect_str_eq(e.message, rows[r].message);
		cr_expect_eq(e.kind, ERR_INVALID);
	}
	cr_expect_eq(i, 7);
	struct err e = ERR_INIT;
	cr_expect_eq(jsonx_int(doc, "spec", "n", false, 1, 10, &i, &e), 0);
	cr_expect_eq(i, 7, "an absent field leaves the default");
	cr_expect_eq(jsonx_int(NULL, "spec", "n", false, 1, 10, &i, &e), 0);
}

Test(jsonx, unknown_fields_are_named)
{
	static const char *const known[] = {"a", "b", NULL};
	AUTO_JSON json_t *doc = parse("{\"a\":1,\"c\":2}");
	struct err e = ERR_INIT;
	cr_expect_eq(jsonx_only_keys(doc, "spec", known, &e), -1);
	cr_expect_str_eq(e.message, "spec.c: unknown field; known are a, b");
}

Test(jsonx, dotted_reads_are_lenient)
{
	AUTO_JSON json_t *doc = parse("{\"metadata\":{\"name\":\"x\",\"generation\":3}}");
	cr_expect_str_eq(jsonx_str_at(doc, "metadata.name", ""), "x");
	cr_expect_eq(jsonx_int_at(doc, "metadata.generation", 0), 3);
	cr_expect_str_eq(jsonx_str_at(doc, "metadata.generation", "d"), "d");
	cr_expect_str_eq(jsonx_str_at(doc, "metadata.name.deeper", "d"), "d");
	cr_expect_null(jsonx_at(NULL, "a"));
	cr_expect_null(jsonx_dup_at(doc, "metadata.uid"));
	char two[2];
	jsonx_copy_at(doc, "metadata.name", two, sizeof two);
	cr_expect_str_eq(two, "x");
	jsonx_copy_at(doc, "metadata.uid", two, sizeof two);
	cr_expect_str_eq(two, "");
}

Test(jsonx, dotted_times)
{
	AUTO_JSON json_t *doc = parse("{\"a\":\"1970-01-01T00:00:01Z\",\"b\":\"1969-01-01T00:00:00Z\",\"c\":\"soon\",\"d\":7}");
	cr_expect_eq(jsonx_time_at(doc, "a"), 1000);
	static const char *const none[] = {"b", "c", "d", "e"};
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		cr_expect_eq(jsonx_time_at(doc, none[i]), 0, "%s", none[i]);
}

Test(jsonx, dumps_up_to_a_limit)
{
	AUTO_JSON json_t *doc = parse("{\"a\":[1,2]}");
	struct err e = ERR_INIT;
	char *text = jsonx_dump(doc, 11, &e);
	cr_assert_not_null(text);
	cr_expect_str_eq(text, "{\"a\":[1,2]}");
	free(text);
	cr_expect_null(jsonx_dump(doc, 10, &e));
	cr_expect_eq(e.kind, ERR_INVALID);
}
