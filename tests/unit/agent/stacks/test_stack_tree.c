#include "agent/stacks/stack_tree.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(stack_tree, totals_order_and_places)
{
	struct stack_tree t;
	stack_tree_init(&t);
	uint32_t a = stack_tree_child(&t, STACK_TREE_ROOT, 1), b = stack_tree_child(&t, a, 2), c = stack_tree_child(&t, a, 3);
	uint32_t d = stack_tree_child(&t, STACK_TREE_ROOT, 3);
	cr_expect_eq(stack_tree_child(&t, a, 2), b, "the same child again");
	cr_expect_neq(c, d, "one method below two parents is two nodes");
	t.nodes[a].self = 1;
	t.nodes[b].self = 2;
	t.nodes[c].self = 5;
	t.nodes[d].self = 9;
	stack_tree_finish(&t);
	cr_expect_eq(t.nodes[STACK_TREE_ROOT].total, 17);
	cr_expect_eq(t.nodes[a].total, 8);
	cr_expect_eq(t.nodes[d].total, 9);
	cr_expect_eq(t.nodes[b].depth, 2);
	const uint32_t preorder[] = {STACK_TREE_ROOT, d, a, c, b}; /* siblings by falling total */
	for (uint32_t i = 0; i < 5; i++) {
		cr_expect_eq(t.order[i], preorder[i], "place %u", i);
		cr_expect_eq(t.rank[preorder[i]], i);
	}
	stack_tree_fini(&t);
	stack_tree_fini(&t);
}

Test(stack_tree, an_empty_one_has_a_root)
{
	struct stack_tree t;
	stack_tree_init(&t);
	stack_tree_finish(&t);
	cr_expect_eq(t.count, 1);
	cr_expect_eq(t.nodes[0].total, 0);
	cr_expect_eq(t.order[0], STACK_TREE_ROOT);
	stack_tree_fini(&t);
}

Test(stack_tree, equal_siblings_stand_by_method)
{
	struct stack_tree t;
	stack_tree_init(&t);
	for (uint32_t m = 10; m > 0; m--) {
		uint32_t node = stack_tree_child(&t, STACK_TREE_ROOT, m);
		t.nodes[node].self = 4;
	}
	stack_tree_finish(&t);
	for (uint32_t i = 1; i <= 10; i++)
		cr_expect_eq(t.nodes[t.order[i]].method, i);
	stack_tree_fini(&t);
}

/* Against a list of paths: random walks, some of them very deep. */
Test(stack_tree, random_paths_are_counted_exactly)
{
	enum { PATHS = 4000, METHODS = 7 };
	struct stack_tree t;
	static uint32_t below_root[METHODS];
	uint32_t samples = 0;
	unsigned seed = 12345;
	stack_tree_init(&t);
	for (int i = 0; i < PATHS; i++) {
		uint32_t node = STACK_TREE_ROOT, depth = i % 500 == 0 ? 5000 : (uint32_t)(rand_r(&seed) % 12);
		for (uint32_t k = 0; k < depth; k++) {
			uint32_t method = (uint32_t)(rand_r(&seed) % METHODS);
			below_root[method] += k == 0;
			node = stack_tree_child(&t, node, method);
		}
		t.nodes[node].self++;
		samples++;
	}
	stack_tree_finish(&t);
	cr_expect_eq(t.nodes[STACK_TREE_ROOT].total, samples);
	uint32_t self = 0, seen = 0;
	for (size_t i = 0; i < t.count; i++) {
		const struct stack_node *n = &t.nodes[i];
		uint32_t sum = n->self, last = UINT32_MAX;
		self += n->self;
		cr_assert_eq(t.order[t.rank[i]], i);
		for (uint32_t c = n->first_child; c != STACK_TREE_NONE; c = t.nodes[c].next_sibling) {
			cr_assert_eq(t.nodes[c].parent, i);
			cr_assert(t.nodes[c].total <= last && t.rank[c] > t.rank[i]);
			last = t.nodes[c].total;
			sum += t.nodes[c].total;
			seen++;
		}
		cr_assert_eq(sum, n->total);
	}
	cr_expect_eq(self, samples);
	cr_expect_eq(seen, t.count - 1);
	for (uint32_t c = t.nodes[0].first_child; c != STACK_TREE_NONE; c = t.nodes[c].next_sibling)
		cr_expect_eq(t.nodes[c].total, below_root[t.nodes[c].method]);
	stack_tree_fini(&t);
}
