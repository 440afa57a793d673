#include "agent/catalogue/sentence.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const char *unit(const void *context, const char *name)
{
	(void)context;
	return strcmp(name, "share") == 0 ? "percent" : strcmp(name, "rate") == 0 || strcmp(name, "lost") == 0 ? "rate" : NULL;
}
static const struct sentence_units units = {unit, NULL};

static struct scope *shop(void)
{
	struct scope *s = scope_new();
	scope_set_number(s, "rate", 12345.6);
	scope_set_number(s, "share", 41.4);
	scope_set_number(s, "lost", NAN);
	scope_set_number(s, "one", 1);
	scope_set_text(s, "method", "Shop.Orders.Pricing.Tables.TaxTable.Compute");
	scope_set_text(s, "nobody", "");
	return s;
}

static const struct {
	const char *sentence, *text;
	size_t max_chars;
} filled[] = {
	{"{rate} a second, {share} of CPU", "12,346 a second, 41% of CPU", 0},
	{"{rate / 1000:.1} and {rate:count}", "12.3 and 12,346", 0},
	{"{one:count} {one:plural time times}, {rate:plural time times}", "1 time, times", 0},
	{"{2500:ms} {310:us} {3:s} {412:mb} {1300000000:bytes} {1500000:ns}", "2.50 s 310 us 3.00 s 412 MB 1.3 GB 1.50 ms", 0},
	{"in {method}", "in Shop.Orders.Pricing.Tables.TaxTable.Compute", 0},
	{"{rate}/s[ in {method}][ of {nobody}][, lost {lost}]", "12,346/s in Shop.Orders.Pricing.Tables.TaxTable.Compute", 0},
	{"lost {lost}", "lost unknown", 0},
	{"{rate}/s[ in {method:fit}]", "12,346/s in \u2026Tables.TaxTable.Compute", 36},
	{"{rate}/s[ in {method:fit}]", "12,346/s", 14},
	{"{rate}/s[ in {method:fit}]", "12,346/s in Shop.Orders.Pricing.Tables.TaxTable.Compute", 80},
	{"{method:method 20}", "\u2026TaxTable.Compute", 0},
	{"plain text: no slot", "plain text: no slot", 0},
};

Test(sentence, slots_and_clauses_are_filled)
{
	struct scope *s = shop();
	for (size_t i = 0; i < sizeof filled / sizeof *filled; i++) {
		struct err e = ERR_INIT;
		AUTO_BUF struct buf out;
		buf_init(&out, 1000);
		cr_assert_eq(sentence_check(filled[i].sentence, &units, &e), 0, "%s", e.message);
		cr_assert_eq(sentence_put(s, filled[i].sentence, &units, filled[i].max_chars, &out, &e), 0, "%s", e.message);
		cr_expect_str_eq(buf_str(&out), filled[i].text, "%s", filled[i].sentence);
	}
	scope_free(s);
}

static const struct {
	const char *sentence, *message;
} bad[] = {
	{"{rate", "a slot without '}'"},
	{"{rate:furlongs}", "no such format"},
	{"{rate:plural time}", "no such format"},
	{"{rate >}", "expression"},
	{"[of {rate}", "a clause without ']'"},
	{"[of [{rate}]]", "no clause in it"},
	{"of {rate}]", "no clause in it"},
};

Test(sentence, what_is_none_says_what_is_wrong)
{
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = ERR_INIT;
		cr_expect_eq(sentence_check(bad[i].sentence, &units, &e), -1, "%s", bad[i].sentence);
		cr_expect_not_null(strstr(e.message, bad[i].message), "%s: %s", bad[i].sentence, e.message);
	}
}
