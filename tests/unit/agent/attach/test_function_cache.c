#include "agent/attach/function_cache.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(s) ((struct channel_text){(s), sizeof(s) - 1})

static struct function_cache *cache;

static void make(void)
{
	cache = function_cache_new();
}

static void end(void)
{
	function_cache_free(cache);
}

TestSuite(function_cache, .init = make, .fini = end);

static const char *method_of(uint64_t id)
{
	const struct resolved_function *f = function_cache_find(cache, id);
	return f ? f->method : "(unknown)";
}

Test(function_cache, a_function_is_copied_with_all_its_texts)
{
	char method[] = "Total";
	struct channel_function f = {
		.id = 7, .flags = CHANNEL_OVERLOADED, .module = TEXT("shop.dll"), .type = TEXT("Shop.Cart"), .method = {method, 5}, .params = TEXT(""),
	};

	function_cache_add(cache, &f);
	memset(method, 'x', sizeof method);
	const struct resolved_function *r = function_cache_find(cache, 7);
	cr_assert_not_null(r);
	cr_expect(r->overloaded && !r->dynamic && r->function_id == 7);
	cr_expect_str_eq(r->module, "shop.dll");
	cr_expect_str_eq(r->type, "Shop.Cart");
	cr_expect_str_eq(r->method, "Total");
	cr_expect_str_eq(r->params, "", "an empty text is not the same as none");
	cr_expect_null(r->type_args);
	cr_expect_null(function_cache_find(cache, 8));
}

Test(function_cache, only_a_younger_dynamic_method_takes_an_id)
{
	static const struct {
		uint16_t flags;
		uint64_t start_ns;
		const char *method, *expected;
	} rows[] = {
		{0, 0, "First", "First"},
		{0, 0, "Again", "First"},
		{CHANNEL_DYNAMIC, 100, "Dyn1", "Dyn1"},
		{CHANNEL_DYNAMIC, 100, "Same start", "Dyn1"},
		{CHANNEL_DYNAMIC, 200, "Dyn2", "Dyn2"},
		{0, 0, "Not dynamic", "Dyn2"},
	};
	const struct resolved_function *held = NULL;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct channel_function f = {.id = 7, .flags = rows[i].flags, .dynamic_start_ns = rows[i].start_ns};
		f.method = (struct channel_text){rows[i].method, strlen(rows[i].method)};
		function_cache_add(cache, &f);
		cr_expect_str_eq(method_of(7), rows[i].expected, "row %zu", i);
		held = held ? held : function_cache_find(cache, 7);
	}
	cr_expect_str_eq(held->method, "First", "who holds the old one keeps it");
}

Test(function_cache, what_is_no_text_becomes_question_marks)
{
	static const struct {
		struct channel_text given;
		const char *expected;
	} rows[] = {
		{TEXT("Größe"), "Größe"}, {TEXT("a\0b"), "a?b"}, {TEXT("\x1b[31m"), "?[31m"}, {TEXT("a\xff"), "a?"},
		{TEXT("\xc3"), "?"}, {TEXT("\x7f\n"), "??"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct channel_function f = {.id = i + 1, .method = rows[i].given};
		function_cache_add(cache, &f);
		cr_expect_str_eq(method_of(i + 1), rows[i].expected, "row %zu: %s", i, method_of(i + 1));
	}
}

Test(function_cache, its_number_has_a_bound)
{
	struct channel_function f = {.method = TEXT("M")};

	for (f.id = 1; f.id <= FUNCTION_CACHE_MAX_COUNT + 1; f.id++)
		function_cache_add(cache, &f);
	cr_expect_str_eq(method_of(FUNCTION_CACHE_MAX_COUNT), "M");
	cr_expect_null(function_cache_find(cache, FUNCTION_CACHE_MAX_COUNT + 1));
	cr_expect_eq(function_cache_dropped(cache), 1);
}

Test(function_cache, its_memory_has_a_bound)
{
	size_t size = 60000;
	char *text = malloc(size);
	struct channel_function f = {.method = {text, size}};

	memset(text, 'a', size);
	for (f.id = 1; f.id <= FUNCTION_CACHE_MAX_BYTES / size + 2; f.id++)
		function_cache_add(cache, &f);
	cr_expect_gt(function_cache_dropped(cache), 0);
	cr_expect_lt(function_cache_dropped(cache), 10);
	cr_expect_eq(strlen(method_of(1)), size);
	free(text);
}
