#include "agent/report/rules.h"

#include "tests/unit/rules_capture.h"

#include <criterion/criterion.h>
#include <string.h>

#define KETTLE_NUMBERS(NUMBER, TEXT) NUMBER(degrees) NUMBER(litres_left) TEXT(brand_name)
RULE_STRUCT(kettle, KETTLE_NUMBERS);
RULE_FIELDS(kettle, KETTLE_NUMBERS);

static const char *needs_degrees(const void *numbers)
{
	const struct kettle *k = numbers;
	return rules_known(k->degrees) ? NULL : "there is no thermometer";
}

static struct rule_score boils(const void *numbers)
{
	const struct kettle *k = numbers;
	return (struct rule_score){k->degrees >= 100 ? rules_score(k->degrees) : 0, 2};
}

static void says_boils(const void *numbers, struct finding *f)
{
	const struct kettle *k = numbers;
	finding_message(f, f->state == FINDING_EXCLUDED ? "boiling" : "The water boils");
	finding_evidence(f, "%.0f degrees", k->degrees);
	finding_place(f, k->brand_name.text);
}

static struct rule_score leaks(const void *numbers)
{
	const struct kettle *k = numbers;
	return (struct rule_score){k->litres_left < 1 ? 60 : 0, 1};
}

static void says_leaks(const void *numbers, struct finding *f)
{
	const struct kettle *k = numbers;
	finding_message(f, f->state == FINDING_EXCLUDED ? "a leak" : "The kettle may leak");
	finding_evidence(f, "%.1f litres", k->litres_left);
}

static const struct rule rules[] = {
	{"Leaks", NULL, leaks, says_leaks},
	{"Boils", needs_degrees, boils, says_boils},
};

static void judge_kettle(struct kettle *k, double degrees, double litres, struct findings *out)
{
	rules_clear(&kettle_fields, k);
	k->degrees = degrees;
	k->litres_left = litres;
	rules_set_text(&k->brand_name, "Caf\xc3\xa9");
	rules_run(rules, 2, &kettle_fields, k, out);
}

Test(rules, found_come_first_then_possible_ones)
{
	struct kettle k;
	struct findings f;
	judge_kettle(&k, 100, 0.5, &f);
	cr_assert_str_eq(findings_lead(&f)->id, "Boils");
	cr_assert_eq(findings_lead(&f)->score, 100);
	cr_assert_str_eq(findings_lead(&f)->place, "Caf\xc3\xa9");
	cr_assert_eq(f.list[1].state, FINDING_POSSIBLE, "one witness");
	cr_assert_not_null(findings_find(&f, "Leaks"));
	AUTO_BUF struct buf text;
	buf_init(&text, 1000);
	findings_put_others(&f, &text);
	cr_assert_str_eq(buf_str(&text), "\nPossibly: The kettle may leak (0.5 litres).");
	findings_fini(&f);
}

Test(rules, what_is_excluded_and_not_measured_is_said_with_the_number_and_the_reason)
{
	struct kettle k;
	struct findings f;
	judge_kettle(&k, NAN, 1.5, &f);
	cr_assert_null(findings_lead(&f));
	cr_assert_null(findings_find(&f, "Leaks"));
	AUTO_BUF struct buf text;
	buf_init(&text, 1000);
	findings_put_others(&f, &text);
	findings_put_seen(&f, &text);
	cr_assert_str_eq(buf_str(&text), "\nExcluded: a leak.\nNot measured: boiling (there is no thermometer).", "in words");
	findings_fini(&f);
}

static const char *needs_a_reason(const void *numbers)
{
	return ((const struct kettle *)numbers)->litres_left > 1 ? "it is full" : "there is no thermometer";
}

static void says_nothing(const void *numbers, struct finding *f)
{
	(void)numbers;
	(void)f;
}

/* Neighbours with one reason have it once; what is never excluded has no words but its id. */
Test(rules, in_doubt_nothing_is_excluded_and_what_was_found_stands)
{
	struct kettle k;
	struct findings f;
	judge_kettle(&k, 100, 2, &f);
	findings_doubt(&f, "the lid is shut");
	cr_assert_eq(f.list[0].state, FINDING_FOUND);
	cr_assert_eq(f.list[1].state, FINDING_NOT_MEASURED);
	cr_assert_str_eq(f.list[1].message, "the lid is shut");
	cr_assert_str_empty(f.list[1].evidence);
	findings_fini(&f);
	judge_kettle(&k, 20, 2, &f);
	findings_doubt(&f, "the lid is shut");
	AUTO_BUF struct buf out;
	buf_init(&out, 1000);
	findings_put_seen(&f, &out);
	cr_assert_str_eq(buf_str(&out), "\nNot measured: a leak; boiling (the lid is shut).");
	findings_fini(&f);
}

Test(rules, what_was_not_measured_is_said_in_words)
{
	static const struct rule many[] = {
		{"Boils", needs_degrees, boils, says_boils},     {"Leaks", needs_degrees, leaks, says_leaks}, {"Whistles", needs_a_reason, boils, says_nothing},
		{"BoilsAgain", needs_degrees, boils, says_boils},
	};
	struct kettle k;
	struct findings f;
	rules_clear(&kettle_fields, &k);
	k.litres_left = 1.5;
	rules_run(many, 4, &kettle_fields, &k, &f);
	AUTO_BUF struct buf text, json;
	buf_init(&text, 1000);
	buf_init(&json, 4000);
	findings_put_seen(&f, &text);
	cr_assert_str_eq(buf_str(&text), "\nNot measured: boiling; a leak (there is no thermometer); Whistles (it is full); and 1 more in report.json.");
	struct json_writer w = jsonw_on(&json);
	jsonw_object(&w, NULL);
	findings_put_json(&f, &w);
	jsonw_end(&w);
	cr_assert(strstr(buf_str(&json), "{\"id\":\"Boils\",\"what\":\"boiling\",\"message\":\"there is no thermometer\"}"), "%s", buf_str(&json));
	findings_fini(&f);
}

Test(rules, what_the_text_has_already_is_not_said_again)
{
	struct kettle k;
	struct findings f;
	judge_kettle(&k, 100, 0.5, &f);
	f.list[1].repeats = true;
	AUTO_BUF struct buf text;
	buf_init(&text, 1000);
	findings_put_others(&f, &text);
	cr_assert_str_eq(buf_str(&text), "");
	f.list[1].repeats = false;
	finding_message(&f.list[1], "The kettle leaks: 0.5 litres");
	findings_put_others(&f, &text);
	cr_assert_str_eq(buf_str(&text), "\nPossibly: The kettle leaks: 0.5 litres.", "its number is in the sentence");
	findings_fini(&f);
}

Test(rules, what_was_measured_is_judged_again_from_the_report)
{
	struct kettle k, again;
	struct findings f;
	struct err e = ERR_INIT;
	judge_kettle(&k, 99.5, NAN, &f);
	AUTO_BUF struct buf text;
	buf_init(&text, 4000);
	struct json_writer w = jsonw_on(&text);
	jsonw_object(&w, NULL);
	findings_put_json(&f, &w);
	jsonw_end(&w);
	AUTO_JSON json_t *report = jsonx_parse(text.data, text.len, "report", &e);
	cr_assert_not_null(report, "%s", e.message);
	cr_assert_eq(json_array_size(json_object_get(report, "findings")), 0);
	cr_assert_str_eq(jsonx_str_at(json_array_get(json_object_get(report, "excluded"), 1), "evidence", ""), "100 degrees");
	read_measured(json_object_get(report, "measured"), &kettle_fields, &again, "report");
	cr_assert_eq(again.degrees, 99.5);
	cr_assert(!rules_known(again.litres_left));
	cr_assert_str_eq(again.brand_name.text, "Caf\xc3\xa9");
	findings_fini(&f);
}
