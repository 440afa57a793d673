#include "common/api/quantity.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The factor of a suffix in thousandths; 0: no such suffix. */
static double factor_of(const char *suffix)
{
	static const struct {
		const char *name;
		double factor;
	} rows[] = {
		{"", 1e3}, {"n", 1e-6}, {"u", 1e-3}, {"m", 1}, {"k", 1e6}, {"M", 1e9}, {"G", 1e12}, {"T", 1e15}, {"P", 1e18}, {"E", 1e21},
		{"Ki", 1e3 * 1024}, {"Mi", 1e3 * 1048576}, {"Gi", 1e3 * 1073741824}, {"Ti", 1e3 * 1099511627776},
		{"Pi", 1e3 * 1125899906842624}, {"Ei", 1e3 * 1152921504606846976},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (strcmp(rows[i].name, suffix) == 0)
			return rows[i].factor;
	}
	return 0;
}

int64_t quantity_parse_milli(const char *text)
{
	const char *digits = text + (*text == '+');
	size_t len = strspn(digits, "0123456789.");
	char *end;
	/* strtod would take hexadecimal numbers, names and signs. "1E" is ten to the 18th, "1E3" a thousand: it knows that. */
	if (len == 0 || len > 40 || strspn(digits, ".") == len || tolower((unsigned char)digits[len]) == 'x')
		return -1;
	double number = strtod(digits, &end);
	double factor = end < digits + len ? 0 : factor_of(end);
	if (factor == 0)
		return -1;
	double milli = number * factor;
	if (milli >= 9.2e18)
		return INT64_MAX;
	int64_t whole = (int64_t)milli;
	return whole + (milli - (double)whole > milli * 1e-12); /* not for an error of the multiplication */
}
