#include "profiler/allocs/told_set.h"

#include <criterion/criterion.h>

static struct told_set set;

Test(told_set, knows_what_was_added_until_it_is_reset)
{
	cr_expect_not(told_set_has(&set, 5));
	told_set_add(&set, 5);
	told_set_add(&set, 5);
	told_set_add(&set, 5 + TOLD_SET_SIZE); /* begins at the same slot */
	cr_expect(told_set_has(&set, 5) && told_set_has(&set, 5 + TOLD_SET_SIZE));
	cr_expect_not(told_set_has(&set, 5 + 2 * TOLD_SET_SIZE));
	cr_expect_eq(told_set_count(&set), 2);
	told_set_reset(&set);
	cr_expect_eq(told_set_count(&set), 0);
	cr_expect_not(told_set_has(&set, 5));
}

Test(told_set, what_finds_no_room_is_not_known)
{
	for (uint64_t i = 1; i <= TOLD_SET_MAX + 10; i++)
		told_set_add(&set, i * 0x9e3779b97f4a7c15u);
	cr_expect_eq(told_set_count(&set), TOLD_SET_MAX);
	cr_expect(told_set_has(&set, TOLD_SET_MAX * 0x9e3779b97f4a7c15u));
	cr_expect_not(told_set_has(&set, (TOLD_SET_MAX + 1) * 0x9e3779b97f4a7c15u));
}
