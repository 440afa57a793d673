/* Shapes that are big or contrived: against what is known of them, and the two ways of the last step against each other. */
#include "agent/heap/heap_dominate.h"
#include "agent/heap/heap_paths.h"
#include "agent/heap/heap_search.h"
#include "tests/unit/agent/heap/make_heap.h"

#define BASE UINT64_C(0x7f0000000000)
#define MANY 300000

static struct heap_builder *begin(uint32_t *small, uint32_t *big)
{
	struct heap_builder *b = heap_builder_new(false);

	heap_builder_range(b, HEAP_GEN2, BASE, UINT64_C(1) << 40);
	*small = heap_builder_type(b, "Node", HEAP_TYPE_REFERENCES, 32, "8 a, 16 b, 24 c");
	*big = heap_builder_type(b, "Node[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, NULL);
	return b;
}

/* Nodes of 32 bytes, one behind the other; an edge to UINT32_MAX is none. */
static void put(struct heap_builder *b, uint32_t type, uint32_t i, uint32_t x, uint32_t y, uint32_t z)
{
	const uint32_t to[3] = {x, y, z};
	struct heap_edge edges[3];
	size_t count = 0;

	for (uint32_t k = 0; k < 3; k++)
		if (to[k] != UINT32_MAX)
			edges[count++] = (struct heap_edge){8 + 8 * k, BASE + 32 * (uint64_t)to[k]};
	heap_builder_object(b, type, BASE + 32 * (uint64_t)i, 32, edges, count);
}

static struct heap_graph *finish(struct heap_builder *b, struct heap_snapshot **s, const struct heap_graph_options *o)
{
	struct err e = ERR_INIT;

	heap_builder_root(b, HEAP_ROOT_STATIC, 0, BASE, 0, "static");
	*s = heap_builder_finish_take(b);
	struct heap_graph *g = heap_graph_new(*s, o, &e);
	cr_assert_not_null(g, "%s", e.message);
	return g;
}

/* Whatever field links them: by the last one the search needs no stack, by the first one it is as deep as the list. */
static void check_list(bool first_field, bool back)
{
	uint32_t small, big;
	struct heap_snapshot *s;
	struct heap_builder *b = begin(&small, &big);

	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t next = i + 1 < MANY ? i + 1 : UINT32_MAX, before = back && i ? i - 1 : 0;
		put(b, small, i, first_field ? next : before, first_field ? before : next, back ? MANY - 1 : UINT32_MAX);
	}
	struct heap_graph *g = finish(b, &s, NULL);
	cr_assert_eq(g->objects, MANY);
	cr_expect_eq(g->dead_bytes, 0);
	for (uint32_t i = 1; i < MANY; i += 997)
		cr_assert_eq(heap_graph_retained(g, i), back ? 32 : 32 * (uint64_t)(MANY - i), "%u", i);
	cr_expect_eq(heap_graph_retained(g, 0), 32 * (uint64_t)MANY);
	cr_expect_eq(heap_graph_dominator(g, MANY - 1), back ? 0 : MANY - 2);
	struct heap_paths paths;
	heap_paths_find(g, 1, 4, &paths, NULL);
	cr_assert_eq(paths.count, 1);
	cr_expect_eq(paths.paths[0].step_count, 1);
	cr_expect_eq(paths.paths[0].steps[0].count, MANY);
	heap_paths_fini(&paths);
	heap_graph_free(g);
	heap_snapshot_free(s);
}

Test(heap_dominate, a_long_list, .timeout = 120)
{
	check_list(false, false);
	check_list(true, false);
}

/* Each knows the one before and the last one: the first one alone holds any. */
Test(heap_dominate, a_long_list_that_is_linked_both_ways, .timeout = 120)
{
	check_list(false, true);
	check_list(true, true);
}

Test(heap_dominate, a_large_star, .timeout = 120)
{
	uint32_t small, big;
	struct heap_snapshot *s;
	struct heap_builder *b = begin(&small, &big);
	struct heap_edge *edges = mem_calloc(MANY, sizeof *edges);
	uint64_t first = BASE + 16 + 8 * MANY;

	for (uint32_t i = 0; i < MANY; i++)
		edges[i] = (struct heap_edge){16 + 8 * i, first + 32 * (uint64_t)i};
	heap_builder_object(b, big, BASE, 16 + 8 * MANY, edges, MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct heap_edge both[2] = {{8, first}, {16, BASE}};
		heap_builder_object(b, small, first + 32 * (uint64_t)i, 32, both, 2);
	}
	free(edges);
	struct heap_graph *g = finish(b, &s, NULL);
	cr_assert_eq(g->objects, MANY + 1);
	for (uint32_t i = 1; i <= MANY; i += 499) {
		cr_assert_eq(heap_graph_dominator(g, i), 0);
		cr_assert_eq(heap_graph_retained(g, i), 32);
	}
	cr_expect_eq(g->retained[0], 16 + 8 * MANY + 32 * (uint64_t)MANY);
	heap_graph_free(g);
	heap_snapshot_free(s);
}

/* The two ways of the last step on one search. Returns whether the second took jumps. */
static bool compare(const struct heap_snapshot *s, uint64_t steps)
{
	struct heap_memory memory;
	struct heap_nodes nodes;
	struct heap_search search;
	struct err e = ERR_INIT;
	struct heap_dominate d = {.steps_before_jumps = steps};

	heap_memory_init(&memory, (size_t)1 << 30, -1);
	cr_assert_eq(heap_nodes_init(&nodes, s, &memory, true, &e), 0, "%s", e.message);
	cr_assert_eq(heap_search_run(&search, &nodes, true, false, &e), 0, "%s", e.message);
	size_t bytes = (search.count + 1) * sizeof(uint32_t);
	uint32_t *parent = mem_alloc(bytes), *semi = mem_alloc(bytes);
	struct heap_forest *forest = mem_calloc(search.count + 1, sizeof *forest);
	memcpy(parent, search.parent, bytes - sizeof *parent);
	memcpy(semi, search.semi, bytes - sizeof *semi);
	struct heap_dominate plain = {.count = search.count, .parent = search.parent, .semi = search.semi, .forest = forest,
				      .arcs = &search.arcs, .steps_before_jumps = UINT64_MAX};
	d.count = search.count;
	d.parent = parent;
	d.semi = semi;
	d.forest = forest;
	d.arcs = &search.arcs;
	cr_assert_eq(heap_dominate(&plain, &e), 0);
	cr_assert_eq(heap_dominate(&d, &e), 0);
	cr_assert_not(plain.jumped);
	for (uint32_t i = 0; i < search.count; i++)
		cr_assert_eq(parent[i], search.parent[i], "%u", i);
	free(parent);
	free(semi);
	free(forest);
	heap_search_fini(&search);
	heap_nodes_fini(&nodes);
	heap_memory_fini(&memory);
	return d.jumped;
}

Test(heap_dominate, jumps_lead_to_the_same_dominators, .timeout = 120)
{
	static const struct heap_shape_of_test shapes[] = {
		{"some", 70, 4, 3, 0, 0, 10, 10, true},
		{"a chain with shortcuts", 80, 2, 1, 1, 1, 0, 0, true},
		{"a chain with back edges", 80, 2, 1, 0, 1, 0, 0, true},
	};
	static struct heap_test t;
	unsigned jumped = 0;

	for (unsigned seed = 1; seed <= 600; seed++) {
		struct heap_snapshot *s = heap_test_make(&t, &shapes[seed % 3], seed);
		jumped += compare(s, 1 + seed % 5);
		heap_snapshot_free(s);
	}
	cr_expect_gt(jumped, 300);
}

/* A long list, and as many nodes that its last and its first one hold: the plain last step would climb the list for each of them. */
Test(heap_dominate, what_takes_the_plain_way_n_squared_steps, .timeout = 120)
{
	enum { LENGTH = 100000 };
	const uint64_t arrays = BASE + 32 * 2 * LENGTH, array_bytes = 16 + 8 * (LENGTH + 1);
	uint32_t small, big;
	struct heap_snapshot *s;
	struct heap_builder *b = begin(&small, &big);
	struct heap_edge *edges = mem_calloc(LENGTH + 1, sizeof *edges);

	for (uint32_t i = 0; i < LENGTH - 1; i++)
		put(b, small, i, i + 1, UINT32_MAX, UINT32_MAX);
	const struct heap_edge to_last = {8, arrays + array_bytes};
	heap_builder_object(b, small, BASE + 32 * (LENGTH - 1), 32, &to_last, 1);
	for (uint32_t i = LENGTH; i < 2 * LENGTH; i++)
		put(b, small, i, UINT32_MAX, UINT32_MAX, UINT32_MAX);
	edges[0] = (struct heap_edge){16, BASE};
	for (uint32_t i = 1; i <= LENGTH; i++)
		edges[i] = (struct heap_edge){16 + 8 * i, BASE + 32 * (uint64_t)(LENGTH + i - 1)};
	heap_builder_object(b, big, arrays, array_bytes, edges, LENGTH + 1);
	heap_builder_object(b, big, arrays + array_bytes, array_bytes, edges + 1, LENGTH);
	heap_builder_root(b, HEAP_ROOT_STATIC, 0, arrays, 0, "static");
	s = heap_builder_finish_take(b);
	struct heap_graph *g = heap_graph_new(s, NULL, NULL);
	cr_assert_not_null(g);
	cr_expect_eq(heap_graph_dominator(g, LENGTH), heap_graph_node(g, arrays));
	cr_expect_eq(heap_graph_dominator(g, 2 * LENGTH - 1), heap_graph_node(g, arrays));
	cr_expect_eq(heap_graph_dominator(g, LENGTH - 1), LENGTH - 2);
	cr_expect_eq(heap_graph_retained(g, 0), 32 * LENGTH + array_bytes);
	heap_graph_free(g);
	heap_snapshot_free(s);
	free(edges);
}
