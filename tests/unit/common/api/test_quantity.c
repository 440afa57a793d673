#include "common/api/quantity.h"

#include <criterion/criterion.h>

static const struct {
	const char *text;
	int64_t milli; /* -1: none */
} rows[] = {
	{"0", 0}, {"1", 1000}, {"+2", 2000}, {"500m", 500}, {"0.5", 500}, {".5", 500}, {"1.", 1000}, {"1.5", 1500}, {"0.1", 100}, {"0.3", 300}, {"0.57", 570},
	{"2.01", 2010}, {"1n", 1}, {"1500u", 2}, {"2k", 2000000}, {"128Mi", INT64_C(134217728000)}, {"1.5Gi", INT64_C(1610612736000)},
	{"1Ki", 1024000}, {"129M", INT64_C(129000000000)}, {"1e3", 1000000}, {"1E3", 1000000}, {"12e-1", 1200}, {"1E", INT64_MAX},
	{"9223372036854775807", INT64_MAX}, {"8Ei", INT64_MAX}, {"99999999999999999999Ei", INT64_MAX},
	{"", -1}, {"m", -1}, {"-1", -1}, {"+-1", -1}, {" 1", -1}, {"1 ", -1}, {"1mi", -1}, {"1K", -1}, {"0x10", -1}, {"0X10", -1}, {"nan", -1}, {"inf", -1}, {"1e", -1},
	{".", -1}, {"1.2.3", -1}, {"1..", -1}, {"1,5", -1},
};

Test(quantity, reads_what_kubernetes_writes)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(quantity_parse_milli(rows[i].text), rows[i].milli, "\"%s\": %lld", rows[i].text, (long long)quantity_parse_milli(rows[i].text));
}
