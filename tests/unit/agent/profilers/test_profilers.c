#include "agent/profilers/cpu/cpu_rules.h"
#include "agent/profilers/deadlocks/deadlock_numbers.h"
#include "agent/profilers/requests/request_numbers.h"
#include "agent/profilers/stucktasks/stuck_numbers.h"
#include "agent/profilers/survivors/survivors_rules.h"
#include "agent/profilers/threads/threads_numbers.h"
#include "agent/report/report.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const size_t cpu_rule_count = CPU_RULE_COUNT;

static const struct {
	const struct rule *rules;
	const size_t *count;
	const struct rule_fields *fields;
} tables[] = {
	{cpu_rules, &cpu_rule_count, &cpu_numbers_fields},
	{deadlock_rules, &deadlock_rule_count, &deadlock_numbers_fields},
	{request_rules, &request_rule_count, &request_numbers_fields},
	{stuck_rules, &stuck_rule_count, &stuck_numbers_fields},
	{survivors_rules, &survivors_rules_count, &survivors_numbers_fields},
	{threads_rules, &threads_rule_count, &threads_numbers_fields},
};

/* Of nothing that was measured: what is asked for is the name alone. */
Test(profilers, each_illness_that_may_not_be_measured_has_a_name_in_words)
{
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
		void *numbers = malloc(tables[t].fields->size);
		rules_clear(tables[t].fields, numbers);
		for (size_t i = 0; i < *tables[t].count; i++) {
			const struct rule *rule = &tables[t].rules[i];
			struct finding f = {.state = FINDING_EXCLUDED};
			if (!rule->needs || strcmp(rule->id, "CpuSpread") == 0 || strcmp(rule->id, "Idle") == 0) /* what is left where nothing else is found */
				continue;
			rule->says(numbers, &f);
			cr_expect(strchr(f.message, ' ') || f.message[0] >= 'a', "%s: \"%s\"", rule->id, f.message);
			cr_expect_lt(strlen(f.message), HEADLINE_MAX_CHARS, "%s: \"%s\"", rule->id, f.message);
			cr_expect_null(strstr(f.message, "nan"), "%s: \"%s\"", rule->id, f.message);
		}
		free(numbers);
	}
}
