#include "tests/unit/heap/make_heap.h"

static const struct heap_shape_of_test shapes[] = {
	{"a few edges", 40, 4, 3, 0, 0, 10, 10, false},
	{"more edges", 30, 6, 8, 0, 0, 10, 10, false},
	{"thick", 24, 3, 30, 0, 0, 0, 0, false},
	{"only upwards", 50, 3, 5, 1, 0, 0, 0, false},
	{"a chain with back edges", 50, 3, 2, 0, 1, 0, 10, false},
	{"a chain with shortcuts", 50, 2, 2, 1, 1, 0, 0, false},
	{"many roots", 30, 50, 4, 0, 0, 30, 30, false},
	{"hardly any roots", 60, 1, 3, 0, 0, 0, 50, false},
	{"tiny", 3, 2, 30, 0, 0, 10, 10, false},
};

static void check_node(const struct heap_test *t, const struct heap_graph *g, uint32_t node)
{
	cr_assert_eq(g->place_of[node] != HEAP_NODE_NONE, t->reached[node], "node %u", node);
	cr_assert_eq(heap_graph_reach(g, node), t->reached[node] ? HEAP_REACH_ROOT : HEAP_REACH_NONE);
	if (!t->reached[node]) {
		cr_assert_eq(heap_graph_retained(g, node), node < t->objects ? t->size[node] : 0);
		cr_assert_eq(heap_graph_dominator(g, node), HEAP_NODE_NONE);
		return;
	}
	cr_assert_eq(g->node_at[g->place_of[node]], node);
	cr_assert_eq(heap_graph_dominator(g, node), heap_test_dominator(t, node), "node %u: %u, not %u", node, heap_graph_dominator(g, node),
		     heap_test_dominator(t, node));
	cr_assert_eq(heap_graph_retained(g, node), heap_test_retained(t, node), "node %u", node);
	uint32_t below = 0;
	for (uint32_t b = 0; b < t->nodes; b++) {
		uint32_t place = g->place_of[b];
		bool inside = place != HEAP_NODE_NONE && place - g->place_of[node] <= g->below[g->place_of[node]];
		cr_assert_eq(inside, t->dominates[node][b], "%u below %u", b, node);
		below += inside;
	}
	cr_assert_eq(g->below[g->place_of[node]] + 1, below);
}

static void check_objects(const struct heap_test *t, const struct heap_graph *g)
{
	uint64_t dead = 0;

	cr_assert_eq(g->objects, t->objects);
	for (uint32_t i = 0; i < t->objects; i++) {
		cr_assert_eq(heap_graph_address(g, i), t->address[i]);
		cr_assert_eq(heap_graph_node(g, t->address[i]), i);
		cr_assert_eq(heap_graph_node(g, t->address[i] + 8), HEAP_NODE_NONE);
		cr_assert_eq(heap_graph_holding(g, t->address[i] + t->size[i] - 1), i);
		cr_assert_neq(heap_graph_holding(g, t->address[i] - 8), i);
		cr_assert_eq(heap_graph_type(g, i), t->type[i]);
		cr_assert_eq(heap_graph_size(g, i), t->size[i]);
		dead += g->place_of[i] == HEAP_NODE_NONE ? t->size[i] : 0;
	}
	cr_assert_eq(g->dead_bytes, dead);
}

static void check_graph(unsigned seed, const struct heap_shape_of_test *shape, const struct heap_graph_options *o)
{
	static struct heap_test t;
	struct err e = ERR_INIT;
	struct heap_snapshot *s = heap_test_make(&t, shape, seed);
	struct heap_graph *g = heap_graph_new(s, o, &e);

	cr_assert_not_null(g, "%s: %s", shape->name, e.message);
	heap_test_solve(&t);
	check_objects(&t, g);
	for (uint32_t node = 0; node < t.nodes; node++)
		check_node(&t, g, node);
	heap_graph_free(g);
	heap_snapshot_free(s);
}

Test(heap_graph, is_as_the_slow_truth_has_it, .timeout = 120)
{
	for (unsigned seed = 1; seed <= 400; seed++)
		for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
			check_graph(seed * 64 + (unsigned)i, &shapes[i], NULL);
}

Test(heap_graph, is_the_same_from_files, .timeout = 120)
{
	const struct heap_graph_options o = {.memory_bytes = 1, .dirfd = -1};

	for (unsigned seed = 1; seed <= 3; seed++)
		for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
			check_graph(seed * 64 + (unsigned)i, &shapes[i], &o);
}
