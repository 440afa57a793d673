#include "agent/profilers/survivors/survivors_text.h"
#include "agent/report/phrase.h"
#include "tests/unit/agent/profilers/survivors/make_heap.h"

Test(survivors_text, holders_keep_the_word_before_their_name)
{
	static const struct {
		const char *name;
		size_t max_chars;
		const char *text;
	} rows[] = {
		{"static Shop.Cache._items", 40, "static Shop.Cache._items"},
		{"static Contoso.Shop.Ordering.Cache._items", 30, "static \xE2\x80\xA6" "Ordering.Cache._items"},
		{"thread static Contoso.Shop.Ordering.Cache._items", 30, "thread static \xE2\x80\xA6" "Cache._items"},
		{"handle (pinned)", 30, "handle (pinned)"},
		{"Contoso.Shop.Order", 12, "\xE2\x80\xA6Shop.Order"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_BUF struct buf out;
		buf_init(&out, 400);
		survivors_text_holder(&out, rows[i].name, rows[i].max_chars);
		cr_expect_str_eq(buf_str(&out), rows[i].text, "%s gave %s", rows[i].name, buf_str(&out));
	}
}

Test(survivors_text, percents)
{
	static const struct {
		double percent;
		const char *text;
	} rows[] = {{0, "0.0%"}, {0.051, "0.05%"}, {0.1, "0.1%"}, {9.94, "9.9%"}, {9.96, "10%"}, {78.4, "78%"}, {100, "100%"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_BUF struct buf out;
		buf_init(&out, 40);
		phrase_percent(&out, rows[i].percent);
		cr_expect_str_eq(buf_str(&out), rows[i].text);
	}
}

Test(survivors_text, steps_name_the_fields_between_them)
{
	struct heap_snapshot *s = make_heap("1 Shop.Cache 32\n2 Shop.Entry[] 32\n3 Shop.Order 32\n");
	static const struct {
		struct heap_step steps[4];
		size_t count, max_chars;
		const char *text;
	} rows[] = {
		{{{.type = 2, .count = 1000000}}, 1, 100, "Order x 1,000,000"},
		{{{.type = 0, .count = 1}, {.type = 1, .field = "_entries", .count = 1}, {.type = 2, .field = "[].value", .count = 7}}, 3, 100,
		 "Cache._entries -> Entry[].value -> Order x 7"},
		{{{.type = 1, .count = 1}, {.type = 2, .field = "[]", .count = 1}}, 2, 100, "Entry[] -> Order"},
		{{{.type = 0, .count = 1}, {.type = 2, .field = "", .count = 2}}, 2, 100, "Cache -> Order x 2"},
		{{{.type = 0, .count = 1}, {.type = 1, .field = "a", .count = 1}, {.type = 0, .field = "[]", .count = 1},
		  {.type = 2, .field = "b", .count = 1}}, 4, 30, "Cache.a -> ... -> Order"},
		{{{0}}, 0, 30, ""},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct heap_path p = {.step_count = rows[i].count};
		AUTO_BUF struct buf out;
		buf_init(&out, 4000);
		memcpy(p.steps, rows[i].steps, sizeof rows[i].steps);
		survivors_text_steps(&out, s, &p, rows[i].max_chars);
		cr_expect_str_eq(buf_str(&out), rows[i].text, "row %zu gave %s", i, buf_str(&out));
	}
	heap_snapshot_free(s);
}
