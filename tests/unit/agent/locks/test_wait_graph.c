#include "agent/locks/wait_graph.h"

#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define NO WAIT_NONE

static struct wait_graph graph_of(const uint32_t *holder, size_t count)
{
	struct wait_graph g;
	uint32_t *copy = mem_calloc(count + 1, sizeof *copy);
	memcpy(copy, holder, count * sizeof *copy);
	wait_graph_make_take(&g, copy, count);
	return g;
}

Test(wait_graph, a_chain_leads_to_its_end)
{
	struct wait_graph g = graph_of((uint32_t[]){1, 2, NO, 2, NO}, 5);
	cr_assert_eq(g.circles, 0);
	cr_assert_eq(g.last[0], 2);
	cr_assert_eq(g.last[3], 2);
	cr_assert_eq(g.behind[2], 3);
	cr_assert_eq(g.last[4], 4);
	cr_assert_eq(g.behind[4], 0);
	wait_graph_fini(&g);
}

Test(wait_graph, circles_are_told_apart_from_those_who_wait_for_them)
{
	/* 0 and 1 hold each other, 2 waits for 0; 3, 4 and 5 are another circle, met in its middle; 6 and 7 wait behind it. */
	struct wait_graph g = graph_of((uint32_t[]){1, 0, 0, 4, 5, 3, 4, 6}, 8);
	cr_assert_eq(g.circles, 2);
	cr_assert_eq(g.circle[0], g.circle[1]);
	cr_assert_eq(g.circle[2], NO);
	cr_assert_eq(g.circle[3], g.circle[5]);
	cr_assert_neq(g.circle[0], g.circle[3]);
	cr_assert_eq(g.circle[7], NO);
	cr_assert_eq(g.circle[g.last[7]], g.circle[3]);
	cr_assert_eq(g.circle[g.last[2]], g.circle[0]);
	wait_graph_fini(&g);
}

Test(wait_graph, what_is_no_wait_is_none)
{
	struct wait_graph g = graph_of((uint32_t[]){0, 77, NO}, 3);
	cr_assert_eq(g.circles, 0, "a lock that is taken again, and a holder that is no thread");
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(g.last[i], i);
	wait_graph_fini(&g);
}

Test(wait_graph, any_graph_comes_to_its_end)
{
	srand(7);
	for (int round = 0; round < 2000; round++) {
		uint32_t holder[12];
		size_t count = 1 + (size_t)rand() % 12;
		for (size_t i = 0; i < count; i++)
			holder[i] = rand() % 4 ? (uint32_t)rand() % (uint32_t)count : NO;
		struct wait_graph g = graph_of(holder, count);
		for (uint32_t i = 0; i < count; i++) {
			uint32_t at = i;
			for (size_t step = 0; step <= count && g.holder[at] != NO; step++)
				at = g.holder[at];
			bool circles = g.holder[at] != NO;
			cr_assert_neq(g.last[i], NO);
			cr_assert_eq(circles, g.circle[g.last[i]] != NO);
			cr_assert(circles || g.last[i] == at);
		}
		wait_graph_fini(&g);
	}
}
