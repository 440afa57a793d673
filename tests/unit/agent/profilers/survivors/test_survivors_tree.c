#include "agent/profilers/survivors/survivors_tree.h"

#include "common/base/buf.h"
#include "tests/unit/agent/profilers/survivors/make_heap.h"

/* One line a node: its depth as dots, name, objects, own and retained bytes. */
static char *shown(const struct survivors_tree *t, const struct heap_snapshot *s, uint64_t least)
{
	uint32_t order[200], count = survivors_tree_preorder(t, least, order, 200);
	struct buf out;
	buf_init(&out, 100000);
	for (uint32_t i = 0; i < count; i++) {
		const struct survivors_node *n = &t->nodes[order[i]];
		for (uint32_t d = 0; d < n->depth; d++)
			buf_putc(&out, '.');
		buf_printf(&out, "%s %llu %llu %llu/%llu\n", survivors_tree_name(t, s, order[i]), (unsigned long long)n->objects,
			   (unsigned long long)n->bytes, (unsigned long long)n->retained, (unsigned long long)n->retained_objects);
	}
	return buf_steal(&out);
}

static void expect(const char *heap, uint64_t least, const char *tree)
{
	struct heap_snapshot *s = make_heap(heap);
	struct heap_graph *g = make_graph(s);
	struct survivors_tree t;
	survivors_tree_make(g, &t);
	char *got = shown(&t, s, least);
	cr_expect_str_eq(got, tree, "%s\ngave\n%s\ninstead of\n%s", heap, got, tree);
	free(got);
	survivors_tree_fini(&t);
	heap_graph_free(g);
	heap_snapshot_free(s);
}

Test(survivors_tree, objects_of_one_type_are_one_node)
{
	expect("1 Shop.Cache 24 > 2\n"
	       "2 Shop.Order[] 40 > 3 4 5\n"
	       "3 Shop.Order 32\n"
	       "4 Shop.Order 32\n"
	       "5 Shop.Order 40\n"
	       "6 Shop.Lost 24\n"
	       "static Shop.Cache.Instance > 1\n",
	       0,
	       "the heap 0 0 168/5\n"
	       ".static Shop.Cache.Instance 1 0 168/5\n"
	       "..Shop.Cache 1 24 168/5\n"
	       "...Shop.Order[] 1 40 144/4\n"
	       "....Shop.Order 3 104 104/3\n");
}

Test(survivors_tree, a_type_below_itself_is_one_node)
{
	expect("1 Node 32 > 2 5\n"
	       "2 Node 32 > 3\n"
	       "3 Node 32 > 4\n"
	       "4 Payload 32\n"
	       "5 Payload 32\n"
	       "static Head > 1\n",
	       0,
	       "the heap 0 0 160/5\n"
	       ".static Head 1 0 160/5\n"
	       "..Node 3 96 160/5\n"
	       "...Payload 2 64 64/2\n");
	/* also with another one between */
	expect("1 Node 24 > 2\n"
	       "2 Item 24 > 3\n"
	       "3 Node 24 > 4\n"
	       "4 Item 24\n"
	       "static Head > 1\n",
	       0,
	       "the heap 0 0 96/4\n"
	       ".static Head 1 0 96/4\n"
	       "..Node 2 48 96/4\n"
	       "...Item 2 48 48/2\n");
}

Test(survivors_tree, roots_of_one_name_are_one_holder)
{
	expect("1 Buffer 24\n"
	       "2 Buffer 24\n"
	       "3 Buffer 24\n"
	       "4 Other 24\n"
	       "handle > 1\n"
	       "handle > 2\n"
	       "pinned > 3\n"
	       "weak > 4\n",
	       0,
	       "the heap 0 0 72/3\n"
	       ".handle 2 0 48/2\n"
	       "..Buffer 2 48 48/2\n"
	       ".pinned 1 0 24/1\n"
	       "..Buffer 1 24 24/1\n");
}

Test(survivors_tree, what_several_hold_is_apart)
{
	expect("1 Left 24 > 3\n"
	       "2 Right 24 > 3\n"
	       "3 Blob 1000\n"
	       "static A > 1\n"
	       "static B > 2\n",
	       0,
	       "the heap 0 0 1048/3\n"
	       ".held by several roots 0 0 1000/1\n"
	       "..Blob 1 1000 1000/1\n"
	       ".static A 1 0 24/1\n"
	       "..Left 1 24 24/1\n"
	       ".static B 1 0 24/1\n"
	       "..Right 1 24 24/1\n");
}

Test(survivors_tree, the_most_lasting_roots_have_it)
{
	expect("1 Cache 24 > 2\n"
	       "2 Entry 100\n"
	       "stack Main > 1\n"
	       "handle > 1\n"
	       "static Cache.Instance > 1\n"
	       "stack Other > 2\n",
	       0,
	       "the heap 0 0 128/2\n"
	       ".static Cache.Instance 1 0 128/2\n"
	       "..Cache 1 24 128/2\n"
	       "...Entry 1 104 104/1\n"
	       ".handle 1 0 0/0\n"
	       ".stack Main 1 0 0/0\n"
	       ".stack Other 1 0 0/0\n");
	/* also where a stack holds something else that refers to it */
	expect("1 Cache 24 > 2\n"
	       "2 Entry 100\n"
	       "3 Task 24 > 2\n"
	       "static Cache.Instance > 1\n"
	       "stack Main > 3\n",
	       0,
	       "the heap 0 0 152/3\n"
	       ".static Cache.Instance 1 0 128/2\n"
	       "..Cache 1 24 128/2\n"
	       "...Entry 1 104 104/1\n"
	       ".stack Main 1 0 24/1\n"
	       "..Task 1 24 24/1\n");
}

Test(survivors_tree, small_nodes_are_left_out)
{
	expect("1 Big 1000\n"
	       "2 Small 24\n"
	       "static A > 1\n"
	       "static B > 2\n",
	       100,
	       "the heap 0 0 1024/2\n"
	       ".static A 1 0 1000/1\n"
	       "..Big 1 1000 1000/1\n");
}

Test(survivors_tree, an_empty_heap)
{
	expect("", 0, "the heap 0 0 0/0\n");
}

/* as many types in turn as there are */
Test(survivors_tree, deep_ways_end_in_a_tree_of_bounded_depth)
{
	struct heap_builder *b = heap_builder_new(false);
	enum { TYPES = 200, OBJECTS = 100000 };
	for (int i = 0; i < TYPES; i++) {
		char name[16];
		snprintf(name, sizeof name, "T%d", i);
		heap_builder_type(b, name, HEAP_TYPE_REFERENCES, 24, NULL);
	}
	for (uint32_t i = 0; i < OBJECTS; i++) {
		const struct heap_edge next = {8, MAKE_HEAP_START + 24 * (i + 1)};
		heap_builder_object(b, i % TYPES, MAKE_HEAP_START + 24 * i, 0, &next, i + 1 < OBJECTS);
	}
	heap_builder_root(b, HEAP_ROOT_STATIC, 0, MAKE_HEAP_START, 0, "static Head");
	struct heap_snapshot *s = heap_builder_finish_take(b);
	struct heap_graph *g = make_graph(s);
	struct survivors_tree t;
	survivors_tree_make(g, &t);
	uint64_t objects = 0;
	for (uint32_t i = 0; i < t.count; i++) {
		cr_assert_leq(t.nodes[i].depth, SURVIVORS_MAX_DEPTH);
		objects += t.nodes[i].objects;
	}
	cr_expect_eq(objects - 1 + t.folded, OBJECTS, "every object is in one node or is counted");
	cr_expect_eq(t.nodes[0].retained, 24 * OBJECTS);
	cr_expect_eq(t.nodes[1].retained, 24 * OBJECTS);
	survivors_tree_fini(&t);
	heap_graph_free(g);
	heap_snapshot_free(s);
}
