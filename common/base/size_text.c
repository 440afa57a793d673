#include "common/base/size_text.h"

#include <inttypes.h>
#include <stdio.h>

void size_text_bytes(struct buf *out, uint64_t bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
	double value = (double)bytes;
	int unit = -1;
	if (bytes < 1000) {
		size_text_counted(out, bytes, "byte", "bytes");
		return;
	}
	do {
		value /= 1000;
		unit++;
	} while (value >= 999.5); /* would be shown as 1000 */
	buf_printf(out, value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

void size_text_count(struct buf *out, uint64_t count)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%" PRIu64, count);
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf_putc(out, ',');
		buf_putc(out, digits[i]);
	}
}

const char *size_text_plural(double figure, const char *one, const char *many)
{
	return figure >= 0.95 && figure < 1.05 ? one : many;
}

void size_text_counted(struct buf *out, uint64_t count, const char *one, const char *many)
{
	size_text_count(out, count);
	buf_printf(out, " %s", size_text_plural((double)count, one, many));
}
