#include "agent/heap/heap_totals.h"
#include "tests/unit/agent/heap/make_heap.h"

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

/* What the objects of a group dominate, each byte once. */
static uint64_t retained_by_group(const struct heap_test *t, const struct heap_groups *groups, uint32_t group)
{
	uint64_t bytes = 0;

	for (uint32_t b = 0; b < t->objects; b++)
		for (uint32_t a = 0; a < t->objects; a++)
			if (groups->of_type[t->type[a]] == group && t->dominates[a][b]) {
				bytes += t->size[b];
				break;
			}
	return bytes;
}

static void check_totals(const struct heap_test *t, const struct heap_graph *g, void (*group_by)(struct heap_groups *, const struct heap_snapshot *))
{
	struct heap_groups groups;
	struct heap_total totals[HEAP_TEST_TYPES + 1];

	group_by(&groups, g->snapshot);
	cr_assert_leq(groups.count, HEAP_TEST_TYPES + 1);
	heap_totals(g, &groups, totals);
	for (uint32_t group = 0; group < groups.count; group++) {
		const struct heap_total *sum = &totals[group];
		struct heap_total truth = {.retained = retained_by_group(t, &groups, group)};
		for (uint32_t i = 0; i < t->objects; i++) {
			bool in = groups.of_type[t->type[i]] == group;
			truth.count += in && t->reached[i];
			truth.bytes += in && t->reached[i] ? t->size[i] : 0;
			truth.dead_bytes += in && !t->reached[i] ? t->size[i] : 0;
			truth.generation_bytes[HEAP_GEN2] += in && t->reached[i] && t->address[i] < 0x7f0000400000 ? t->size[i] : 0;
		}
		cr_assert_eq(sum->count, truth.count);
		cr_assert_eq(sum->bytes, truth.bytes);
		cr_assert_eq(sum->dead_bytes, truth.dead_bytes);
		cr_assert_eq(sum->unheld_bytes, 0);
		cr_assert_eq(sum->retained, truth.retained, "%s", groups.names[group]);
		cr_assert_eq(sum->generation_bytes[HEAP_GEN2], truth.generation_bytes[HEAP_GEN2]);
		cr_assert_eq(sum->generation_bytes[HEAP_GEN0], truth.bytes - truth.generation_bytes[HEAP_GEN2]);
	}
	heap_groups_fini(&groups);
}

static void check_spaces(const struct heap_test *t, const struct heap_graph *g)
{
	struct heap_space spaces[HEAP_GENERATIONS];
	uint64_t bytes = 0, dead = 0, free_count = 0;

	heap_spaces(g, spaces);
	for (int i = 0; i < HEAP_GENERATIONS; i++) {
		bytes += spaces[i].bytes;
		dead += spaces[i].dead_bytes;
		free_count += spaces[i].free_count;
	}
	const struct heap_space *old = &spaces[HEAP_GEN2];
	cr_assert_eq(bytes, g->retained[0]);
	cr_assert_eq(dead, g->dead_bytes);
	cr_assert_eq(old->range_bytes, 0x400000);
	cr_assert_eq(old->free_bytes, old->range_bytes - old->bytes - old->dead_bytes, "told or not");
	cr_assert_eq(free_count * 24, t->free_bytes);
}

static void check_graph(unsigned seed, const struct heap_shape_of_test *shape, const struct heap_graph_options *o)
{
	static struct heap_test t;
	struct err e = ERR_INIT;
	struct heap_snapshot *s = heap_test_make(&t, shape, seed);
	struct heap_graph *g = heap_graph_new(s, o, &e);

	cr_assert_not_null(g, "%s: %s", shape->name, e.message);
	if (o && o->lasting_first)
		heap_test_lasting_first(&t, s);
	heap_test_solve(&t);
	check_objects(&t, g);
	for (uint32_t node = 0; node < t.nodes; node++)
		check_node(&t, g, node);
	check_totals(&t, g, heap_groups_by_type);
	check_totals(&t, g, heap_groups_by_space);
	check_totals(&t, g, heap_groups_by_module);
	check_spaces(&t, g);
	heap_graph_free(g);
	heap_snapshot_free(s);
}

Test(heap_graph, is_as_the_slow_truth_has_it, .timeout = 120)
{
	for (unsigned seed = 1; seed <= 150; seed++)
		for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
			check_graph(seed * 64 + (unsigned)i, &shapes[i], NULL);
}

Test(heap_graph, lasting_roots_go_first, .timeout = 120)
{
	const struct heap_graph_options o = {.dirfd = -1, .lasting_first = true};

	for (unsigned seed = 1; seed <= 150; seed++)
		for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
			check_graph(seed * 64 + (unsigned)i, &shapes[i], &o);
}

Test(heap_graph, is_the_same_from_files, .timeout = 120)
{
	const struct heap_graph_options o = {.memory_bytes = 1, .dirfd = -1};

	for (unsigned seed = 1; seed <= 3; seed++)
		for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
			check_graph(seed * 64 + (unsigned)i, &shapes[i], &o);
}

/* A generation's regions lie between those of another one, and come before or after them in the stream. */
Test(heap_graph, regions_in_any_order)
{
	static const uint64_t regions[] = {0x7f0000800000, 0x7f0002c00000, 0x7f0001000000, 0x7f0000000000, 0x7f0001400000};
	struct err e = ERR_INIT;
	struct heap_builder *b = heap_builder_new(false);
	uint32_t type = heap_builder_type(b, "Shop.Order", 0, 32, NULL);
	for (size_t i = 0; i < sizeof regions / sizeof regions[0]; i++)
		for (uint64_t k = 0; k < 100; k++)
			heap_builder_object(b, type, regions[i] + k * 32, 32, NULL, 0);
	struct heap_snapshot *s = heap_builder_finish_take(b);
	struct heap_graph *g = heap_graph_new(s, NULL, &e);
	cr_assert(g, "%s", e.message);
	cr_expect_eq(g->objects, 500);
	for (uint32_t node = 1; node < g->objects; node++)
		cr_expect_gt(heap_graph_address(g, node), heap_graph_address(g, node - 1));
	cr_expect_neq(heap_graph_node(g, 0x7f0001000000), HEAP_NODE_NONE);
	heap_graph_free(g);
	heap_snapshot_free(s);
}

/* Streams whose form is right, and which are no heap. */
static void check_refused(struct heap_builder *b, enum err_kind kind, const char *words)
{
	struct err e = ERR_INIT;
	struct heap_snapshot *s = heap_builder_finish_take(b);
	struct heap_graph *g = heap_graph_new(s, NULL, &e);

	cr_expect_null(g, "%s", words);
	cr_expect_eq(e.kind, kind);
	cr_expect(strstr(e.message, words), "%s", e.message);
	heap_graph_free(g);
	heap_snapshot_free(s);
}

Test(heap_graph, refuses_what_is_no_heap)
{
	enum { SCATTERED = 1200000 };
	struct heap_builder *b = heap_builder_new(false);
	uint32_t type = heap_builder_type(b, "Shop.Order", 0, 64, NULL);

	for (int i = 0; i < 100; i++)
		heap_builder_object(b, type, 0x7f0000000000 + 64 * (uint64_t)i, 0, NULL, 0);
	heap_builder_object(b, type, 0x7f0000000000 + 32, 0, NULL, 0);
	check_refused(b, ERR_PROTOCOL, "objects overlap at 7f0000000020");

	b = heap_builder_new(false);
	type = heap_builder_type(b, "Shop.Order", 0, 8, NULL);
	heap_builder_object(b, type, 0x7f0000000000, 0, NULL, 0);
	check_refused(b, ERR_PROTOCOL, "an object of 8 bytes");

	b = heap_builder_new(false);
	type = heap_builder_type(b, "Shop.Order", 0, 64, NULL);
	for (uint64_t i = SCATTERED; i > 0; i--)
		heap_builder_object(b, type, 0x100000 * i, 0, NULL, 0);
	check_refused(b, ERR_PROTOCOL, "come in no order");
}

/* Objects gigabytes apart cost what they are, not what lies between. */
Test(heap_graph, bears_objects_far_apart)
{
	enum { FAR = 50000 };
	struct heap_builder *b = heap_builder_new(false);
	uint32_t type = heap_builder_type(b, "Shop.Order[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, NULL);
	struct err e = ERR_INIT;

	for (uint64_t i = 1; i <= FAR; i++) {
		const struct heap_edge next = {16, i < FAR ? (i + 1) << 32 : UINT64_C(1) << 32};
		heap_builder_object(b, type, i << 32, UINT64_C(1) << 31, &next, 1);
	}
	heap_builder_root(b, HEAP_ROOT_STACK, HEAP_ROOT_INTERIOR, (UINT64_C(7) << 32) + 0x40000000, 0, "stack");
	heap_builder_root(b, HEAP_ROOT_STACK, HEAP_ROOT_CONSERVATIVE, (UINT64_C(7) << 32) + 0x90000000, 0, "stack");
	struct heap_snapshot *s = heap_builder_finish_take(b);
	struct heap_graph *g = heap_graph_new(s, NULL, &e);
	cr_assert_not_null(g, "%s", e.message);
	cr_expect_eq(g->retained[0], (uint64_t)FAR << 31);
	cr_expect_eq(heap_graph_dominator(g, 6), HEAP_GRAPH_ROOT(g, 0));
	cr_expect_eq(heap_graph_retained(g, 7), (uint64_t)(FAR - 1) << 31);
	cr_expect_eq(g->place_of[HEAP_GRAPH_ROOT(g, 1)], HEAP_NODE_NONE, "a word that leads behind the object");
	heap_graph_free(g);
	heap_snapshot_free(s);
}
