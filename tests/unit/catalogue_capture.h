/* The catalogue's rules on numbers made up for a test, and on recorded captures (tests/unit/rules_capture.h). */
#ifndef DRDOTNET_CATALOGUE_CAPTURE_H
#define DRDOTNET_CATALOGUE_CAPTURE_H

#include "agent/catalogue/catalogue.h"

#include "tests/unit/rules_capture.h"

/* What the rule of that id says of the numbers, copied to *out; its state. */
static inline enum finding_state judged_in_catalogue(const char *profiler, const struct rule_fields *fields, const void *numbers, const char *id,
						     struct finding *out)
{
	struct findings f;
	catalogue_judge(profiler, fields, numbers, &f);
	for (size_t i = 0; i < f.count; i++)
		if (strcmp(f.list[i].id, id) == 0)
			*out = f.list[i];
	cr_assert_str_eq(out->id, id);
	findings_fini(&f);
	return out->state;
}

/* The group file names each number of the profiler, and no other. */
static inline void check_group(const char *profiler, const struct rule_fields *fields)
{
	const struct rule_group *g = catalogue_group(profiler);
	cr_assert_not_null(g, "%s", profiler);
	for (size_t i = 0; i < fields->count; i++) {
		const struct rule_definition *d = catalogue_rule_definition(NULL, g, fields->list[i].name);
		cr_assert_not_null(d, "%s: %s is not in group.yaml", profiler, fields->list[i].name);
		cr_expect_not_null(d->means, "%s: %s: means", profiler, d->name);
		cr_expect_eq(d->unit == NULL, fields->list[i].text, "%s: %s: a number has a unit, a text none", profiler, d->name);
	}
	cr_expect_eq(g->numbers.count, fields->count, "%s: group.yaml has numbers that there are not", profiler);
}

#endif
