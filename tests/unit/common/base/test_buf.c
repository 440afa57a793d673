#include "common/base/buf.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

Test(buf, an_append_that_does_not_fit_changes_nothing)
{
	static const struct {
		size_t max, first, second;
		int expected;
	} rows[] = {{10, 5, 4, 0}, {10, 5, 5, 0}, {10, 5, 6, -1}, {0, 0, 1, -1}, {0, 0, 0, 0}, {10, 5, SIZE_MAX, -1}};
	static const char bytes[16] = "0123456789abcde";
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		AUTO_BUF struct buf b;
		buf_init(&b, rows[i].max);
		cr_assert_eq(buf_append(&b, bytes, rows[i].first), 0);
		cr_expect_eq(buf_append(&b, bytes, rows[i].second), rows[i].expected, "row %zu", i);
		cr_expect_eq(b.full, rows[i].expected != 0, "row %zu", i);
		size_t len = rows[i].first + (rows[i].expected == 0 ? rows[i].second : 0);
		cr_expect_eq(b.len, len, "row %zu: %zu bytes, not %zu", i, b.len, len);
		cr_expect_eq(strlen(buf_str(&b)), len, "row %zu", i);
	}
}

Test(buf, formatting_respects_the_maximum)
{
	AUTO_BUF struct buf b;
	buf_init(&b, 5);
	cr_expect_eq(buf_printf(&b, "%d", 12345), 0);
	cr_expect_eq(buf_printf(&b, "%d", 6), -1);
	cr_expect_str_eq(buf_str(&b), "12345");
}

Test(buf, random_operations_agree_with_a_plain_array)
{
	enum { MAX = 300 };
	char model[MAX];
	size_t model_len = 0;
	AUTO_BUF struct buf b;
	buf_init(&b, MAX);
	srand(7);
	for (int step = 0; step < 20000; step++) {
		char bytes[64];
		size_t n = (size_t)rand() % sizeof bytes;
		memset(bytes, 'a' + step % 26, sizeof bytes);
		if (rand() % 3) {
			int fits = model_len + n <= MAX;
			cr_assert_eq(buf_append(&b, bytes, n), fits ? 0 : -1);
			if (fits) {
				memcpy(model + model_len, bytes, n);
				model_len += n;
			}
		} else {
			buf_consume(&b, n);
			size_t gone = n < model_len ? n : model_len;
			memmove(model, model + gone, model_len - gone);
			model_len -= gone;
		}
		cr_assert_eq(b.len, model_len);
		cr_assert_eq(memcmp(buf_str(&b), model, model_len), 0);
	}
}

Test(buf, steal_gives_the_content_and_leaves_it_empty)
{
	struct buf b;
	buf_init(&b, 100);
	buf_puts(&b, "hello");
	char *s = buf_steal(&b);
	cr_expect_str_eq(s, "hello");
	free(s);
	cr_expect_eq(b.len, 0);
	s = buf_steal(&b);
	cr_expect_str_eq(s, "");
	free(s);
	buf_fini(&b);
	buf_fini(NULL);
}
