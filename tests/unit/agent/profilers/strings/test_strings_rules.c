/* Each rule at both sides of its thresholds, on made-up numbers; and on what real applications were measured to have. */
#include "agent/profilers/strings/strings_numbers.h"
#include "agent/report/phrase.h"
#include "agent/report/report.h"
#include "tests/unit/catalogue_capture.h"

#define MB 1e6
#define LITTLE 65536.0
#define BIG 16777216.0

static void make_numbers(struct strings_numbers *n, double heap, double wasted, double field, double value, double crowded)
{
	rules_clear(&strings_numbers_fields, n);
	n->heap_bytes = heap;
	n->strings = 100000;
	n->copies = wasted > 0 ? 50000 : 0;
	n->wasted_bytes = wasted;
	n->holder_bytes = field;
	n->value_bytes = value;
	n->value_strings = 20000;
	n->crowded_bytes = crowded;
	rules_set_text(&n->holder, "Shop.Order._code");
	rules_set_text(&n->place, "Shop.Order._code");
	rules_set_text(&n->value, "6 digits");
}

Test(strings_rules, at_both_sides_of_each_threshold)
{
	static const struct {
		double heap, wasted, field, value, crowded;
		const char *id, *message; /* NULL: nothing is found */
		int score;
		double unheld;
	} rows[] = {
		{100 * MB, 10 * MB, 2.5 * MB, 0, 0, "CopiesInOneField", "Duplicate strings waste 10 MB (10% of the heap), most in Shop.Order._code", 10, 0},
		{100 * MB, 10 * MB, 2.49 * MB, 0, 0, "CopiesInManyFields", "Duplicate strings waste 10 MB (10% of the heap), in many fields", 10, 0},
		{100 * MB, 10 * MB, 2.49 * MB, 2.5 * MB, 0, "CopiesOfOneValue",
		 "Duplicate strings waste 10 MB (10% of the heap), most of one value: 6 digits", 10, 0},
		{100 * MB, 10 * MB, 2.5 * MB, 2.5 * MB, 0, "CopiesInOneField", NULL, 10, 0},
		{100 * MB, 10 * MB, 2.49 * MB, 2.49 * MB, 0, "CopiesInManyFields", NULL, 10, 0},
		/* little */
		{1 * MB, LITTLE, LITTLE, 0, 0, "CopiesInOneField", NULL, 6, 0},
		{1 * MB, LITTLE - 1, LITTLE - 1, 0, 0, NULL, NULL, 0, 0},
		{100 * MB, 1 * MB, 1 * MB, 0, 0, "CopiesInOneField", NULL, 1, 0},
		{100 * MB, 0.99 * MB, 0.99 * MB, 0, 0, NULL, NULL, 0, 0},
		{10000 * MB, BIG, BIG, 0, 0, "CopiesInOneField", NULL, 1, 0},
		{10000 * MB, BIG - 1, BIG - 1, 0, 0, NULL, NULL, 0, 0},
		{0, 0, 0, 0, 0, NULL, NULL, 0, 0},
		/* fields that were not told apart */
		{100 * MB, 10 * MB, 1 * MB, 0, 2.49 * MB, "CopiesInManyFields", NULL, 10, 0},
		{100 * MB, 10 * MB, 1 * MB, 0, 2.5 * MB, NULL, NULL, 0, 0},
		{100 * MB, 10 * MB, 2.5 * MB, 0, 7 * MB, "CopiesInOneField", NULL, 10, 0},
		/* garbage */
		{100 * MB, 10 * MB, 1 * MB, 0, 0, "CopiesInOneField", "Duplicate strings waste 2.0 MB (2.0% of the heap), most in Shop.Order._code", 2, 8 * MB},
		{100 * MB, 10 * MB, 0, 0, 0, NULL, NULL, 0, 9.01 * MB},
		{100 * MB, 10 * MB, 0, 0, 0, "CopiesInManyFields", NULL, 1, 9 * MB},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct strings_numbers n;
		struct findings found;
		make_numbers(&n, rows[i].heap, rows[i].wasted, rows[i].field, rows[i].value, rows[i].crowded);
		n.unheld_bytes = rows[i].unheld;
		catalogue_judge("DuplicatedStrings", &strings_numbers_fields, &n, &found);
		const struct finding *f = findings_lead(&found);
		cr_expect_str_eq(f ? f->id : "", rows[i].id ? rows[i].id : "", "row %zu: %s", i, f ? f->id : "nothing");
		if (f) {
			cr_expect_eq(f->score, rows[i].score, "row %zu: %d", i, f->score);
			cr_expect_leq(phrase_chars(f->message), HEADLINE_MAX_CHARS, "%s", f->message);
			cr_expect_gt(strlen(f->evidence), 0);
			cr_expect(!rows[i].message || strcmp(f->message, rows[i].message) == 0, "row %zu: %s", i, f->message);
		}
		findings_fini(&found);
	}
}

Test(strings_rules, what_excludes_is_said_and_what_could_not_be_told)
{
	struct strings_numbers n;
	struct findings found;
	make_numbers(&n, 100 * MB, 0.5 * MB, 0.4 * MB, 0, 0);
	catalogue_judge("DuplicatedStrings", &strings_numbers_fields, &n, &found);
	for (size_t i = 0; i < found.count; i++) {
		cr_expect_eq(found.list[i].state, FINDING_EXCLUDED);
		cr_expect_str_eq(found.list[i].evidence, "500 kB, 0.5% of the heap, are copies");
	}
	findings_fini(&found);
	make_numbers(&n, 100 * MB, 10 * MB, 1 * MB, 0, 3 * MB);
	catalogue_judge("DuplicatedStrings", &strings_numbers_fields, &n, &found);
	cr_expect_eq(found.list[1].state, FINDING_NOT_MEASURED);
	cr_expect_eq(found.list[2].state, FINDING_NOT_MEASURED);
	findings_fini(&found);
}

static void judge_strings(const struct rule_fields *fields, const void *numbers, struct findings *out)
{
	catalogue_judge("DuplicatedStrings", fields, numbers, out);
}

Test(strings_rules, captures_of_real_applications)
{
	struct strings_numbers n;
	const struct capture_judge by = {.fields = &strings_numbers_fields, .judge = judge_strings};
	check_group("DuplicatedStrings", &strings_numbers_fields);
	check_captures_by("strings", &by, &n);
}
