#include "agent/host/work_budget.h"

#include <criterion/criterion.h>

Test(work_budget, what_is_used_up_stays_so)
{
	struct work_budget b;
	work_budget_begin_anew(&b, WORK_LINES);
	cr_assert(work_budget_spend(&b, WORK_STEPS - 1));
	cr_assert(work_budget_spend(&b, 1));
	cr_assert_eq(work_thread_passed(), 0);
	cr_assert_not(work_budget_spend(&b, 1));
	cr_assert(work_budget_over(&b));
	work_budget_end(&b);
	work_budget_begin(&b);
	cr_assert_not(work_budget_spend(&b, 1), "in a later turn, too");
	cr_assert_eq(work_thread_passed(), 1u << WORK_LINES);
	work_budget_begin_anew(&b, WORK_LOCKS);
	cr_assert(work_budget_spend(&b, 1));
	cr_assert_not(work_budget_spend(&b, UINT64_MAX));
	cr_assert_eq(work_thread_passed(), 1u << WORK_LINES | 1u << WORK_LOCKS);
	work_thread_begin(NULL);
	cr_assert_eq(work_thread_passed(), 0);
}

Test(work_budget, outside_of_a_turn_all_is_free)
{
	struct work_budget b;
	work_budget_init(&b, WORK_NAMES);
	cr_assert(work_budget_spend(&b, UINT64_MAX));
	work_budget_begin(&b);
	cr_assert(work_budget_spend(&b, 5));
	work_budget_end(&b);
	cr_assert(work_budget_spend(&b, UINT64_MAX));
	cr_assert_eq(b.steps, 5);
	cr_assert(work_budget_spend(NULL, UINT64_MAX) && !work_budget_over(NULL));
}

Test(work_budget, time_of_the_turns_counts)
{
	struct work_budget b;
	work_budget_init(&b, WORK_NAMES);
	b.cpu_ns = WORK_CPU_NS - 1000000000;
	work_budget_begin(&b);
	cr_assert(work_budget_spend(&b, 1));
	work_budget_end(&b);
	cr_assert_geq(b.cpu_ns, WORK_CPU_NS - 1000000000);
	b.cpu_ns = WORK_CPU_NS + 1;
	work_budget_begin(&b);
	cr_assert_not(work_budget_spend(&b, 1));
	cr_assert_eq(work_thread_passed(), 1u << WORK_NAMES);
}

Test(work_budget, something_may_be_left_out_and_the_rest_be_read)
{
	struct work_budget b;
	work_budget_leave_out(NULL);
	work_budget_begin_anew(&b, WORK_NAMES);
	work_budget_leave_out(&b);
	cr_assert_eq(work_thread_passed(), 1u << WORK_NAMES);
	cr_assert(work_budget_spend(&b, 1) && !work_budget_over(&b));
}

/* Within so many steps that they are done in no time. */
Test(work_budget, a_thread_that_is_told_to_stop_gets_no_further)
{
	static atomic_bool stop;
	struct work_budget b;
	uint64_t steps = 0;
	work_thread_begin(&stop);
	work_budget_begin_anew(&b, WORK_SYMBOLS);
	cr_assert(work_budget_spend(&b, 1));
	atomic_store(&stop, true);
	while (steps < WORK_STEPS / 1000 && work_budget_spend(&b, 1))
		steps++;
	cr_assert_lt(steps, WORK_STEPS / 1000);
	cr_assert_eq(work_thread_passed(), 0, "it is nothing for a report");
	work_budget_begin_anew(&b, WORK_LOCKS);
	cr_assert_not(work_budget_spend(&b, 1));
}

Test(work_budget, kinds_are_told_in_words)
{
	static const struct {
		unsigned kinds;
		const char *words;
	} rows[] = {
		{0, ""},
		{1u << WORK_LINES, "source lines"},
		{1u << WORK_NAMES | 1u << WORK_SYMBOLS, "method names and native symbols"},
		{(1u << WORK_KINDS) - 1, "locks and queues, method names, source lines and native symbols"},
	};
	char words[WORK_WORDS_BYTES];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(work_words(rows[i].kinds, words), rows[i].words);
}
