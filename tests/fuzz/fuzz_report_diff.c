/* Two reports from disk, apart by a NUL byte: whatever they hold, a comparison is short, printable and has finite figures; a report is no
 * different from itself. */
#include "common/report/report_diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check(int right)
{
	if (!right)
		abort();
}

static size_t chars(const char *s)
{
	size_t n = 0;
	for (; *s; s++) {
		check((unsigned char)*s >= 0x20 || *s == '\n');
		n += ((unsigned char)*s & 0xC0) != 0x80;
	}
	return n;
}

static void check_rows(const json_t *diff)
{
	static const char *const figures[] = {"before", "after", "delta"};
	size_t i;
	json_t *row;
	json_array_foreach(jsonx_at(diff, "rows"), i, row) {
		for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
			check(isfinite(json_number_value(json_object_get(row, figures[k]))));
		check(jsonx_str_at(row, "name", NULL) && jsonx_str_at(row, "change", NULL));
	}
}

static void check_diff(const json_t *diff)
{
	const char *headline = jsonx_str_at(diff, "headline", "");
	check(headline[0] && chars(headline) <= REPORT_DIFF_HEADLINE_CHARS && !strchr(headline, '\n'));
	chars(jsonx_str_at(diff, "diagnosis", ""));
	check_rows(diff);
	AUTO_BUF struct buf text;
	buf_init(&text, 4 << 20);
	check(report_diff_print(diff, &text) == 0);
	chars(buf_str(&text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *first = (const char *)data, *end = size ? memchr(data, 0, size) : NULL;
	size_t first_len = end ? (size_t)(end - first) : size, second_len = end ? size - first_len - 1 : 0;
	struct err e = ERR_INIT;
	AUTO_JSON json_t *diff = report_diff_make_text(first, first_len, "a", end ? end + 1 : "", second_len, "b", &e);
	check(diff || (e.kind == ERR_INVALID && e.message[0]));
	if (diff)
		check_diff(diff);
	AUTO_JSON json_t *self = report_diff_make_text(first, first_len, "a", first, first_len, "a", NULL);
	if (self) {
		check_diff(self);
		check(json_is_false(json_object_get(self, "changed")));
	}
	return 0;
}
