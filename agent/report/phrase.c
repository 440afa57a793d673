#include "agent/report/phrase.h"

size_t phrase_chars(const char *s)
{
	size_t count = 0;
	for (; *s; s++)
		count += ((unsigned char)*s & 0xC0) != 0x80;
	return count;
}

bool phrase_is_one(double figure)
{
	return figure >= 0.95 && figure < 1.05;
}

void phrase_percent(struct buf *out, double percent)
{
	buf_printf(out, percent >= 9.95 ? "%.0f%%" : percent >= 0.095 || percent <= 0 ? "%.1f%%" : "%.2f%%", percent);
}
