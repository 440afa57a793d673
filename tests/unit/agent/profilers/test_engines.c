/* What each profiler says of a runtime that is newer than those known. */
#include "agent/catalogue/catalogue.h"
#include "agent/profilers/cpu/cpu_rules.h"
#include "agent/profilers/deadlocks/deadlock_numbers.h"
#include "agent/profilers/stucktasks/stuck_numbers.h"
#include "agent/profilers/survivors/survivors_numbers.h"
#include "agent/profilers/survivors/survivors_rules.h"
#include "agent/profilers/threads/threads_numbers.h"
#include "agent/profilers/waits/wait_numbers.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const size_t cpu_rule_count = CPU_RULE_COUNT;

static const struct profiler_rules {
	const char *name;
	const struct rule *rules; /* NULL: the catalogue's */
	const size_t *count;
	const struct rule_fields *fields;
	const struct rule_engines *engines;
} profilers[] = {
	{"Deadlocks", deadlock_rules, &deadlock_rule_count, &deadlock_numbers_fields, deadlock_engines},
	{"Threads", threads_rules, &threads_rule_count, &threads_numbers_fields, threads_engines},
	{"Waits", NULL, NULL, &wait_numbers_fields, wait_engines},
	{"StuckTasks", stuck_rules, &stuck_rule_count, &stuck_numbers_fields, stuck_engines},
	{"CPUHotpaths", cpu_rules, &cpu_rule_count, &cpu_numbers_fields, cpu_engines},
	{"GCSurvivors", survivors_rules, &survivors_rules_count, &survivors_numbers_fields, survivors_engines},
};

static void judge(const struct profiler_rules *p, const void *numbers, struct findings *out)
{
	if (p->rules)
		rules_run(p->rules, *p->count, p->fields, numbers, out);
	else
		catalogue_judge(p->name, p->fields, numbers, out);
}

static bool has_rule(const struct profiler_rules *p, const char *id)
{
	for (size_t i = 0; p->rules && i < *p->count; i++)
		if (strcmp(p->rules[i].id, id) == 0)
			return true;
	return !p->rules && catalogue_find(id, p->name);
}

static struct engine_support of_version(const char *version)
{
	struct engine_platform p;
	struct engine_support s;
	engine_platform_of(version, "linux-x64", "x64", &p);
	engine_support_of(&p, &s);
	return s;
}

/* Numbers that are all there: whatever rule can exclude, does, or finds. */
static void *numbers_that_are(const struct rule_fields *fields, double each)
{
	char *numbers = calloc(1, fields->size);
	rules_clear(fields, numbers);
	for (size_t i = 0; i < fields->count; i++)
		if (!fields->list[i].text)
			*(double *)(numbers + fields->list[i].offset) = each;
	return numbers;
}

static const struct rule_engines *engines_of(const struct profiler_rules *p, const char *id)
{
	const struct rule_engines *e = p->engines;
	while (e->id && strcmp(e->id, id) != 0)
		e++;
	return e->id ? e : NULL;
}

Test(engines, what_rests_on_them_is_a_rule)
{
	for (size_t i = 0; i < sizeof profilers / sizeof *profilers; i++)
		for (const struct rule_engines *e = profilers[i].engines; e->id; e++) {
			cr_expect(has_rule(&profilers[i], e->id), "%s has no rule %s", profilers[i].name, e->id);
			cr_expect(e->engines, "%s", e->id);
		}
}

static void expect_withheld(const struct profiler_rules *p, double each)
{
	struct engine_support newer = of_version("12.0.0");
	void *numbers = numbers_that_are(p->fields, each);
	struct findings f;
	AUTO_BUF struct buf headline;
	buf_init(&headline, 200);
	judge(p, numbers, &f);
	findings_withhold(&f, p->engines, &newer);
	for (size_t i = 0; i < f.count; i++) {
		const struct rule_engines *e = engines_of(p, f.list[i].id);
		bool parts = e && !(e->engines & ~newer.partly), excluded = f.list[i].state == FINDING_EXCLUDED;
		if (!e || (parts && !excluded && f.list[i].state != FINDING_NOT_MEASURED))
			continue;
		cr_expect_eq(f.list[i].state, FINDING_NOT_MEASURED, "%s: %s", p->name, f.list[i].id);
		cr_expect(parts || strstr(f.list[i].message, " of .NET 12 yet"), "%s: %s: %s", p->name, f.list[i].id, f.list[i].message);
		cr_expect_eq(f.list[i].score, 0);
	}
	if (f.withheld) {
		findings_put_withheld(&f, &headline);
		cr_expect(strncmp(buf_str(&headline), "This version does not read the ", 31) == 0, "%s: %s", p->name, buf_str(&headline));
	}
	cr_expect(f.withheld || strcmp(p->name, "GCSurvivors") == 0, "%s", p->name);
	findings_fini(&f);
	free(numbers);
}

Test(engines, of_a_newer_runtime_nothing_is_excluded)
{
	for (size_t i = 0; i < sizeof profilers / sizeof *profilers; i++) {
		expect_withheld(&profilers[i], 0);
		expect_withheld(&profilers[i], 1);
		expect_withheld(&profilers[i], 100);
	}
}

Test(engines, of_one_that_is_known_all_stands)
{
	struct engine_support known = of_version("10.0.12");
	for (size_t i = 0; i < sizeof profilers / sizeof *profilers; i++) {
		void *numbers = numbers_that_are(profilers[i].fields, 0);
		struct findings f, before;
		judge(&profilers[i], numbers, &f);
		judge(&profilers[i], numbers, &before);
		findings_withhold(&f, profilers[i].engines, &known);
		cr_expect_null(f.withheld, "%s", profilers[i].name);
		cr_expect_eq(memcmp(f.list, before.list, f.count * sizeof *f.list), 0, "%s", profilers[i].name);
		findings_fini(&f);
		findings_fini(&before);
		free(numbers);
	}
}

/* "None" is no answer where roots were not read; what was found among those that were is. */
Test(engines, what_was_found_among_what_was_read_stands)
{
	const struct profiler_rules *p = &profilers[5];
	struct engine_support newer = of_version("12.0.0");
	struct survivors_numbers n;
	struct findings f;
	rules_clear(&survivors_numbers_fields, &n);
	n.heap_bytes = 1e8;
	n.seen_percent = 100;
	n.holders_known = 1;
	n.holder_bytes = 9e7;
	n.unread_bytes = n.unheld_bytes = n.shared_bytes = n.type_bytes = n.handlers = n.handler_bytes = n.disposables = n.disposable_bytes = 0;
	rules_set_text(&n.holder, "static Shop.Cache.Entries");
	rules_run(p->rules, *p->count, p->fields, &n, &f);
	findings_withhold(&f, p->engines, &newer);
	cr_assert_not_null(findings_find(&f, "HeldByOneHolder"));
	cr_assert_str_eq(f.withheld, "this version does not read the handles of .NET 12 yet");
	for (size_t i = 0; i < f.count; i++)
		cr_expect(f.list[i].state != FINDING_EXCLUDED || !engines_of(p, f.list[i].id), "%s", f.list[i].id);
	findings_fini(&f);
}
