#include "agent/catalogue/expression.h"
#include "agent/catalogue/expression_syntax.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct scope *shop(void)
{
	struct scope *s = scope_new();
	struct err e = ERR_INIT;
	scope_set_number(s, "rate", 12);
	scope_set_number(s, "zero", 0);
	scope_set_number(s, "lost", NAN);
	scope_set_text(s, "type", "System.FormatException");
	scope_set_text(s, "empty", "");
	cr_assert_eq(scope_set_expression(s, "double_rate", "2 * rate", &e), 0, "%s", e.message);
	cr_assert_eq(scope_set_expression(s, "is_lost", "lost > 5", &e), 0);
	cr_assert_eq(scope_set_expression(s, "best", "max(lost, rate)", &e), 0);
	cr_assert_eq(scope_set_expression(s, "loop", "loop + 1", &e), 0);
	return s;
}

static const struct {
	const char *expression;
	enum value_kind kind;
	double number;
	const char *text; /* of a text; of what is unknown: the name */
} values[] = {
	{"rate >= 12 and rate < 13", VALUE_BOOLEAN, 1, NULL},
	{"rate > 12 or zero <= 0", VALUE_BOOLEAN, 1, NULL},
	{"(rate + 3) / 5 - 1 * 2", VALUE_NUMBER, 1, NULL},
	{"type == \"System.FormatException\"", VALUE_BOOLEAN, 1, NULL},
	{"type ~= \"System.FormatException\"", VALUE_BOOLEAN, 0, NULL},
	{"starts(type, \"System.\") and ends(type, \"Exception\") and contains(type, \"Format\")", VALUE_BOOLEAN, 1, NULL},
	{"rate > 5 and type or \"none\"", VALUE_TEXT, 0, "System.FormatException"},
	{"double_rate", VALUE_NUMBER, 24, NULL},
	{"max(rate, 40)", VALUE_NUMBER, 40, NULL},
	{"min(rate, lost)", VALUE_NUMBER, 12, NULL},
	{"floor(2.5) + ceil(2.5)", VALUE_NUMBER, 5, NULL},
	/* what was not measured is neither true nor false, but where the rest decides */
	{"lost > 5", VALUE_UNKNOWN, 0, "lost"},
	{"lost <= 5", VALUE_UNKNOWN, 0, "lost"},
	{"lost > 5 and rate > 5", VALUE_UNKNOWN, 0, "lost"},
	{"rate > 5 and lost > 5", VALUE_UNKNOWN, 0, "lost"},
	{"lost > 5 and rate > 50", VALUE_BOOLEAN, 0, NULL},
	{"5 > lost or rate > 5", VALUE_BOOLEAN, 1, NULL},
	{"-lost * 2 + 1 <= rate / lost", VALUE_UNKNOWN, 0, "lost"},
	{"rate > 5 and (lost > 5 or rate > 50) and rate > 6", VALUE_UNKNOWN, 0, "lost"},
	{"rate > 5 and (lost > 5 or rate > 50) and rate > 60", VALUE_BOOLEAN, 0, NULL},
	{"lost > 5 and 3 or 4", VALUE_UNKNOWN, 0, "lost"},
	{"lost > 5 and 3 or 3", VALUE_NUMBER, 3, NULL},
	{"floor(lost)", VALUE_UNKNOWN, 0, "lost"},
	{"unknown > 3", VALUE_UNKNOWN, 0, "unknown"},
	{"rate > 50 and lost > 5", VALUE_BOOLEAN, 0, NULL},
	{"lost > 5 or rate > 5", VALUE_BOOLEAN, 1, NULL},
	{"lost > 5 or rate > 50", VALUE_UNKNOWN, 0, "lost"},
	{"lost + 1", VALUE_UNKNOWN, 0, "lost"},
	{"is_lost", VALUE_UNKNOWN, 0, "lost"},
	{"is_lost or rate > 50", VALUE_UNKNOWN, 0, "lost"},
	{"best", VALUE_NUMBER, 12, NULL},
	{"best > 5", VALUE_BOOLEAN, 1, NULL},
	{"best > 50", VALUE_BOOLEAN, 0, NULL},
	{"known(lost)", VALUE_BOOLEAN, 0, NULL},
	{"not known(lost) and rate > 50", VALUE_BOOLEAN, 0, NULL},
	{"known(rate) and known(type) and not known(empty) and not known(is_lost)", VALUE_BOOLEAN, 1, NULL},
};

Test(expression, values)
{
	struct scope *s = shop();
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		struct err e = ERR_INIT;
		struct value v;
		cr_assert_eq(scope_evaluate(s, values[i].expression, &v, &e), 0, "%s", e.message);
		cr_expect_eq(v.kind, values[i].kind, "%s", values[i].expression);
		if (v.kind == VALUE_NUMBER || v.kind == VALUE_BOOLEAN)
			cr_expect_eq(v.number, values[i].number, "%s", values[i].expression);
		if (v.kind == VALUE_TEXT)
			cr_expect_str_eq(v.text, values[i].text);
		if (v.kind == VALUE_UNKNOWN)
			cr_expect_str_eq(v.unknown, values[i].text, "%s", values[i].expression);
	}
	scope_free(s);
}

static const struct {
	const char *expression, *message;
} bad[] = {
	{"rate >", "expression"},
	{"rate => 5", "compare by ==, <= or >= at '=> 5'"},
	{"Rate > 5", "names are written like_this, not likeThis at 'Rate > 5'"},
	{"rate > 5 && rate < 6", "write 'and' at '&& rate < 6'"},
	{"rate > 5 || rate < 6", "write 'or'"},
	{"type != \"a\"", "write '~='"},
	{"type == 'a'", "write texts in double quotes"},
	{"rate == 5", "'==' and '~=' are for texts"},
	{"rate ~= lost + 1 or type ~= 5", "'==' and '~=' are for texts"},
	{"type > lost", "attempt to compare"},
	{"rates > 5", "unknown name 'rates'"},
	{"rate > type", "attempt to compare"},
	{"not (rate > 5)", "'not' is for known(...) only"},
	{"not rate > 5", "'not' is for known(...) only"},
	{"known(rate > 5)", "known() takes one name"},
	{"print(rate)", "not a function"},
	{"max", "a function without parentheses"},
	{"rate > 5 -- a comment", "unexpected character at '-- a"},
	{"while true do end", "not a name"},
	{"function() end", "not a name"},
	{"type .. type", "unexpected character at '.. type'"},
	{"type:rep(5)", "unexpected character"},
	{"{1}", "unexpected character at '{1}'"},
	{"[[text]]", "unexpected character"},
	{"\"a\\n\"", "unexpected character"},
	{"#type", "unexpected character at '#type'"},
	{"1e400", "expression"},
	{"rate > 5; rate = 6", "unexpected character at '; rate = 6'"},
	{"loop", "needs itself"},
	{"max(type, 5)", "number expected"},
	{"", "neither a number nor a text"},
};

Test(expression, what_is_none_says_what_is_wrong)
{
	struct scope *s = shop();
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = ERR_INIT;
		struct value v;
		cr_expect_eq(scope_evaluate(s, bad[i].expression, &v, &e), -1, "%s", bad[i].expression);
		cr_expect_not_null(strstr(e.message, bad[i].message), "%s: %s", bad[i].expression, e.message);
	}
	scope_free(s);
}

Test(expression, depth_and_length_are_bounded)
{
	struct scope *s = shop();
	struct err e = ERR_INIT;
	struct value v;
	char text[EXPRESSION_MAX_BYTES + 2];
	memset(text, '(', 400);
	memcpy(text + 400, "1", 1);
	memset(text + 401, ')', 400);
	text[801] = '\0';
	cr_expect_eq(scope_evaluate(s, text, &v, &e), -1);
	memset(text, '1', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	e = (struct err)ERR_INIT;
	cr_expect_eq(scope_evaluate(s, text, &v, &e), -1);
	cr_expect_not_null(strstr(e.message, "more than 1000 bytes"), "%s", e.message);
	scope_free(s);
}

Test(expression, a_later_name_replaces_the_earlier_one)
{
	struct scope *s = shop();
	struct err e = ERR_INIT;
	struct value v;
	scope_set_text(s, "rate", "high");
	cr_assert_eq(scope_evaluate(s, "rate", &v, &e), 0);
	cr_expect_str_eq(v.text, "high");
	scope_free(s);
}

static void count_name(void *context, const char *name, size_t length)
{
	(void)name;
	*(size_t *)context += length;
}

Test(expression, names_are_those_that_are_asked_for)
{
	size_t length = 0;
	expression_names("known(rate) and max(lost, 3) > 5 or type == \"x\"", count_name, &length);
	cr_expect_eq(length, strlen("rate") + strlen("lost") + strlen("type"));
}
