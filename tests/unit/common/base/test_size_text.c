#include "common/base/size_text.h"

#include <criterion/criterion.h>

Test(size_text, bytes)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{0, "0 bytes"},		{1, "1 byte"},		{999, "999 bytes"},	{1000, "1.0 kB"},
		{9949, "9.9 kB"},	{9950, "10 kB"},	{999499, "999 kB"},	{999500, "1.0 MB"},
		{412345678, "412 MB"},	{1340000000, "1.3 GB"}, {UINT64_C(5000000000000), "5.0 TB"}, {UINT64_MAX, "18 EB"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		AUTO_BUF struct buf out;
		buf_init(&out, 64);
		size_text_bytes(&out, rows[i].bytes);
		cr_expect_str_eq(buf_str(&out), rows[i].text, "%s instead of %s", buf_str(&out), rows[i].text);
	}
}

Test(size_text, counts)
{
	static const struct {
		uint64_t count;
		const char *text;
	} rows[] = {
		{0, "0"}, {999, "999"}, {1000, "1,000"}, {123456, "123,456"}, {1000000, "1,000,000"}, {UINT64_MAX, "18,446,744,073,709,551,615"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		AUTO_BUF struct buf out;
		buf_init(&out, 64);
		size_text_count(&out, rows[i].count);
		cr_expect_str_eq(buf_str(&out), rows[i].text, "%s instead of %s", buf_str(&out), rows[i].text);
	}
}

/* A figure that is shown with one digit after the point agrees with what is read. */
Test(size_text, words_agree_with_figures)
{
	static const struct {
		double figure;
		const char *noun;
	} rows[] = {{0, "threads"}, {0.1, "threads"}, {0.94, "threads"}, {0.95, "thread"}, {1, "thread"}, {1.04, "thread"}, {1.05, "threads"}, {2, "threads"}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		cr_expect_str_eq(size_text_plural(rows[i].figure, "thread", "threads"), rows[i].noun, "%.2f", rows[i].figure);
	AUTO_BUF struct buf out;
	buf_init(&out, 64);
	size_text_counted(&out, 1, "thread waits", "threads wait");
	size_text_counted(&out, 2048, "thread waits", "threads wait");
	cr_expect_str_eq(buf_str(&out), "1 thread waits2,048 threads wait");
}
