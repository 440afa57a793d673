#include "agent/report/report_markdown.h"

#include "common/base/cleanup.h"

#include <criterion/criterion.h>

Test(markdown, prose_can_be_read_as_it_stands)
{
	static const struct {
		const char *text, *shown;
	} rows[] = {
		{"", ""},
		{"80% of CPU in Shop.Tax.Compute", "80% of CPU in Shop.Tax.Compute"},
		{"in Shop.Cache<__Canon>.Get.", "in `Shop.Cache<__Canon>.Get`."},
		{"in Dictionary<String, List<Int32>>.Insert, called", "in `Dictionary<String, List<Int32>>.Insert`, called"},
		{"static Cache._items -> Dictionary<int, Order>._entries -> Order x 12",
		 "static Cache._items -> `Dictionary<int, Order>._entries` -> Order x 12"},
		{"in A<int, Shop.Order, List<long>>, then x", "in `A<int, Shop.Order, List<long>>`, then x"},
		{"if a <b then c -> d", "if a `<b` then c -> d"},
		{"field _items of A_B", "field _items of A_B"},
		{"as (anonymous type)<int, decimal>.", "as `(anonymous type)<int, decimal>`."},
		{"as (anonymous type)", "as (anonymous type)"},
		{"(a remark on A<int, long>)", "(a remark on `A<int, long>`)"},
		{"List`1.Add", "`` List`1.Add ``"},
		{"a ``b`` c", "a ``` ``b`` ``` c"},
		{"[link](x) and [7]", "`[link](x)` and [7]"},
		{"# no heading", "`#` no heading"},
		{"A * B  C", "A `*` B  C"},
		{"end <", "end `<`"},
		{"<", "`<`"},
		{"\\", "`\\`"},
		{"  <a> ", "  `<a>` "},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		AUTO_BUF struct buf out;
		buf_init(&out, 4096);
		report_markdown_prose(&out, rows[i].text);
		cr_expect_str_eq(buf_str(&out), rows[i].shown, "row %zu: %s", i, buf_str(&out));
	}
}

/* In a cell, so that a bar does not end it. */
Test(markdown, code_keeps_each_character)
{
	static const struct {
		const char *text, *shown;
	} rows[] = {
		{"", ""},
		{"Shop.Tax.Compute", "`Shop.Tax.Compute`"},
		{"List`1.Add", "`` List`1.Add ``"},
		{"`a`` b", "``` `a`` b ```"},
		{"a|b`|", "`` a\\|b`\\| ``"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		AUTO_BUF struct buf out;
		buf_init(&out, 4096);
		report_markdown_code(&out, rows[i].text);
		cr_expect_str_eq(buf_str(&out), rows[i].shown, "row %zu: %s", i, buf_str(&out));
	}
}
