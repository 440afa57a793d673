#include "agent/catalogue/catalogue.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <string.h>

#define RULE(more)                                                                                                                              \
	"id: user/SlowParsing\nprofiler: Exceptions\nname: slow parsing\nwhen: near_percent >= 10\nscore: near_percent\nfound: a\nwhy: b\nfix: c\n" \
	"meaning: d\nrecognized: e\n" more

Test(catalogue, each_rule_is_sound_and_has_its_texts)
{
	glob_t rules, groups;
	size_t count = catalogue_count();
	cr_assert(glob("catalogue/*/*.yaml", 0, NULL, &rules) == 0 && glob("catalogue/*/group.yaml", 0, NULL, &groups) == 0);
	cr_assert_eq(count, rules.gl_pathc - groups.gl_pathc, "a rule is left out: the log says why");
	globfree(&rules);
	globfree(&groups);
	for (size_t i = 0; i < count; i++) {
		const struct catalogue_rule *r = catalogue_rule_at(i);
		struct err e = ERR_INIT;
		cr_expect_eq(catalogue_rule_check(r, catalogue_group(r->profiler), r->id, &e), 0, "%s", e.message);
		cr_expect(r->tests && r->tests[0], "%s: no tests: only possible", r->id);
	}
	cr_expect_null(catalogue_rule_at(count));
	cr_expect_null(catalogue_find("Nothing", NULL));
	cr_expect_str_eq(catalogue_find("RetryStorm", NULL)->profiler, "Exceptions");
}

static const struct {
	const char *text, *message;
} bad[] = {
	{"id: [", "line"},
	{"just words", "expected fields such as"},
	{"id: user/SlowParsing\n", "profiler: is missing"},
	{"id: user/slow parsing\n", "expected letters and digits that begin with a capital"},
	{"id: SlowParsing\nprofiler: Exceptions\nname: n\nwhen: near_percent > 1\nscore: 1\nfound: a\nwhy: b\nfix: c\nmeaning: d\nrecognized: e\n",
	 "must begin with 'user/'"},
	{RULE("wen: true\n"), "unknown field"},
	{RULE("witnesses: near_percents\n"), "there is no number 'near_percents' of Exceptions"},
	{RULE("witnesses: near_percent >\n"), "witnesses: 'near_percent >'"},
	{RULE("ruled_out: \"{near_percent:furlongs}\"\n"), "no such format"},
	{RULE("needs: [{say: a, unless: b}]\n"), "unknown field"},
	{RULE("needs: {say: a}\n"), "expected a text"},
	{RULE("not_beside: 5\n"), "expected a list of texts"},
	{RULE("needs: counted\n"), "needs: expected a list of {if: CONDITION, say: REASON}"},
	{RULE("place: counted\n"), "place: expected a text"},
	{RULE("witnesses: 12\n"), "witnesses: expected 1 to 9"},
	{RULE("let: {many: near_method > 5}\n"), "many: 'near_method > 5'"},
	{RULE("let: {same: near_percent == site_percent}\n"), "'near_percent' is a number: compare it by <= and >="},
	{RULE("ruled_out: [{if: counted, say: a}]\n"), "ruled_out: expected a comparison, such as 'counted > 0'"},
	{RULE("precedence: high\n"), "precedence: expected an integer"},
};

Test(catalogue, a_rule_that_is_none_is_left_out_and_says_why)
{
	size_t count = catalogue_count();
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = ERR_INIT;
		cr_expect_eq(catalogue_add_user(bad[i].text, strlen(bad[i].text), "rules/slow.yaml", &e), -1, "%s", bad[i].text);
		cr_expect_not_null(strstr(e.message, bad[i].message), "%s: %s", bad[i].text, e.message);
		cr_expect_not_null(strstr(e.message, "rules/slow.yaml"), "%s", e.message);
	}
	cr_expect_eq(catalogue_count(), count);
}

Test(catalogue, a_users_rule_is_added_once)
{
	struct err e = ERR_INIT;
	const char *text = RULE("");
	cr_assert_eq(catalogue_add_user(text, strlen(text), "slow.yaml", &e), 0, "%s", e.message);
	cr_expect_not_null(catalogue_find("user/SlowParsing", NULL));
	cr_expect_eq(catalogue_add_user(text, strlen(text), "slow.yaml", &e), -1);
	cr_expect_not_null(strstr(e.message, "there is a rule 'user/SlowParsing' of Exceptions already"), "%s", e.message);
}
