#include "common/base/search.h"

#include <criterion/criterion.h>

Test(search, finds_what_a_look_at_each_finds)
{
	static const int list[] = {1, 3, 3, 3, 7, 8};
	for (size_t count = 0; count <= sizeof list / sizeof *list; count++)
		for (int at = 0; at < 10; at++) {
			size_t from = 0, past = 0;
			while (from < count && list[from] < at)
				from++;
			while (past < count && list[past] <= at)
				past++;
			cr_expect_eq(SEARCH_PAST(i, count, list[i] < at), from, "%d of %zu", at, count);
			cr_expect_eq(SEARCH_PAST(i, count, list[i] <= at), past, "%d of %zu", at, count);
		}
}
