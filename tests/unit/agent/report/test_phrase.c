#include "agent/report/phrase.h"

#include "common/base/cleanup.h"

#include <criterion/criterion.h>

Test(phrase, durations)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {{0, "0 us"}, {999, "1 us"}, {310000, "310 us"}, {999499, "999 us"}, {999500, "1.00 ms"}, {1240000, "1.24 ms"},
		    {9994999, "9.99 ms"}, {9995000, "10.0 ms"}, {84000000, "84.0 ms"}, {99950000, "100 ms"}, {999499999, "999 ms"},
		    {999500000, "1.00 s"}, {6239000000, "6.24 s"}, {9994999999, "9.99 s"}, {9995000000, "10.0 s"}, {99950000000, "100.0 s"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_BUF struct buf b;
		buf_init(&b, 64);
		phrase_duration(&b, rows[i].ns);
		cr_expect_str_eq(buf_str(&b), rows[i].text);
	}
}
