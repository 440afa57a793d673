#include "agent/report/phrase.h"

#include "common/base/size_text.h"

#include <math.h>

size_t phrase_chars(const char *s)
{
	size_t count = 0;
	for (; *s; s++)
		count += ((unsigned char)*s & 0xC0) != 0x80;
	return count;
}

void phrase_duration(struct buf *out, int64_t ns)
{
	double us = (double)ns / 1000.0;
	if (us < 999.5)
		buf_printf(out, "%.0f us", us);
	else if (us < 999500)
		buf_printf(out, us < 9995 ? "%.2f ms" : us < 99950 ? "%.1f ms" : "%.0f ms", us / 1000);
	else
		buf_printf(out, us < 9995000 ? "%.2f s" : "%.1f s", us / 1e6);
}

void phrase_percent(struct buf *out, double percent)
{
	buf_printf(out, percent >= 9.95 ? "%.0f%%" : percent >= 0.095 || percent <= 0 ? "%.1f%%" : "%.2f%%", percent);
}

void phrase_rate(struct buf *out, double per_second)
{
	if (per_second >= 1000)
		size_text_count(out, (uint64_t)(fmin(per_second, 1e18) + 0.5)); /* a library may claim any number */
	else
		buf_printf(out, per_second >= 20 ? "%.0f" : per_second >= 1 ? "%.1f" : "%.2f", per_second);
}
