#include "agent/report/limits.h"

#include <criterion/criterion.h>
#include <string.h>

#define SECOND 1000000000ll

Test(limits, a_stall_is_told_once_and_the_longest_holds)
{
	struct limits l = {0};
	limits_note_stall(&l, 0);
	cr_expect_eq(l.count, 0);
	limits_note_stall(&l, 15 * SECOND);
	limits_note_stall(&l, 14 * SECOND);
	cr_assert_eq(l.count, 1);
	cr_expect_str_eq(l.list[0].name, "stalled");
	cr_expect_eq(l.list[0].seen, 15 * SECOND);
	cr_expect(strstr(l.list[0].meaning, "did not run for 15.0 seconds"), "%s", l.list[0].meaning);
	cr_expect_eq(l.list[0].meaning[strlen(l.list[0].meaning) - 1], '.', "it has room");
	limits_note_stall(&l, 16 * SECOND);
	cr_assert_eq(l.count, 1);
	cr_expect_eq(l.list[0].seen, 16 * SECOND);
}
