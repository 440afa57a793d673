/* The figures of a report; also under tsan: a helper finds the paths meanwhile. */
#include "agent/profilers/survivors/survivors.h"
#include "tests/unit/agent/profilers/survivors/make_heap.h"

struct made {
	struct heap_snapshot *snapshot;
	struct heap_graph *graph;
	struct survivors s;
};

static void make(struct made *m, const char *text, enum heap_way way)
{
	struct err e = ERR_INIT;
	m->snapshot = make_heap(text);
	m->snapshot->facts.way = way;
	m->graph = heap_graph_new(m->snapshot, NULL, &e);
	cr_assert(m->graph, "%s", e.message);
	cr_assert_eq(survivors_make(m->graph, &m->s, &e), 0, "%s", e.message);
}

static void made_fini(struct made *m)
{
	survivors_fini(&m->s);
	heap_graph_free(m->graph);
	heap_snapshot_free(m->snapshot);
}

static const char *const text = "1 Shop.Cache 32 > 2 3\n"
				"2 Shop.Order 100\n"
				"3 Shop.Order 204\n"
				"4 Free 4000\n"
				"5 Shop.Ui.Widget 48 > 6\n"
				"6 string 24\n"
				"7 Shop.Lost 1000 > 8\n"
				"8 string 80\n"
				"static Shop.Cache.Instance > 1\n"
				"stack of Main > 1\n"
				"pinned > 5\n"
				"weak > 7\n";

Test(survivors, sums)
{
	struct made m;
	make(&m, text, HEAP_WAY_EXACT);
	const struct survivors *s = &m.s;
	cr_expect(s->objects == 7 && s->bytes == 32 + 104 + 208 + 48 + 24 + 1000 + 80, "%llu", (unsigned long long)s->bytes);
	cr_expect(s->held_objects == 5 && s->held_bytes == 32 + 104 + 208 + 48 + 24);
	cr_expect(s->unreachable_objects == 2 && s->unreachable_bytes == 1080);
	cr_expect_eq(s->free_bytes, 4000);
	cr_expect(s->pinned_objects == 1 && s->pinned_bytes == 48);
	cr_expect(s->kinds[SURVIVORS_STATIC].roots == 1 && s->kinds[SURVIVORS_STATIC].retained == 344);
	cr_expect(s->kinds[SURVIVORS_STACK].roots == 1 && s->kinds[SURVIVORS_STACK].retained == 0);
	cr_expect(s->kinds[SURVIVORS_PINNED_HANDLE].roots == 1 && s->kinds[SURVIVORS_PINNED_HANDLE].retained == 72);
	cr_expect_eq(s->kinds[SURVIVORS_UNKNOWN].retained, 0);
	cr_expect_float_eq(survivors_percent(s, 748), 50, 0.001);
	made_fini(&m);
}

Test(survivors, what_no_known_root_holds_is_unreachable)
{
	struct made m;
	make(&m, text, HEAP_WAY_NO_COLLECTION);
	cr_expect(m.s.unreachable_objects == 2 && m.s.unreachable_bytes == 1080 && m.s.held_bytes == 416);
	cr_expect_eq(m.s.kinds[SURVIVORS_UNKNOWN].retained, 1080);
	cr_expect(m.s.holders[0].kind == SURVIVORS_UNKNOWN && strcmp(m.s.holders[0].name, "Shop.Lost") == 0, "by type: %s", m.s.holders[0].name);
	made_fini(&m);
}

Test(survivors, types_namespaces_and_holders_by_what_they_retain)
{
	static const struct {
		const char *name;
		uint64_t retained, count;
	} types[] = {{"Shop.Cache", 344, 1}, {"Shop.Order", 312, 2}, {"Shop.Ui.Widget", 72, 1}, {"string", 24, 1}, {"Shop.Lost", 0, 0}},
	  spaces[] = {{"Shop", 344, 3}, {"Shop.Ui", 72, 1}, {"", 24, 1}};
	static const char *const holders[] = {"static Shop.Cache.Instance", "pinned"};
	struct made m;
	make(&m, text, HEAP_WAY_EXACT);
	cr_assert_eq(m.s.types.count, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct survivors_group *g = &m.s.types.items[i];
		cr_expect_str_eq(g->name, types[i].name);
		cr_expect(g->total.retained == types[i].retained && g->total.count == types[i].count, "%s %llu", g->name,
			  (unsigned long long)g->total.retained);
	}
	cr_expect_eq(m.s.types.items[4].total.dead_count, 1);
	cr_assert_geq(m.s.namespaces.count, 3);
	for (size_t i = 0; i < 3; i++) {
		cr_expect_eq(m.s.namespaces.items[i].total.retained, spaces[i].retained, "%s", m.s.namespaces.items[i].name);
		cr_expect_eq(m.s.namespaces.items[i].total.count, spaces[i].count, "%s", m.s.namespaces.items[i].name);
	}
	cr_assert_eq(m.s.holder_count, 2);
	for (size_t i = 0; i < 2; i++)
		cr_expect_str_eq(m.s.holders[i].name, holders[i]);
	cr_expect_eq(m.s.assemblies.count, 1);
	made_fini(&m);
}

Test(survivors, an_empty_heap)
{
	struct made m;
	make(&m, "", HEAP_WAY_EXACT);
	cr_expect(m.s.bytes == 0 && m.s.holder_count == 0 && m.s.types.count == 0 && survivors_percent(&m.s, 0) == 0);
	made_fini(&m);
}

/* More types than are listed: what is left out is counted. */
Test(survivors, lists_are_bounded)
{
	enum { TYPES = SURVIVORS_MAX_TYPES + 50 };
	struct heap_builder *b = heap_builder_new(false);
	struct made m;
	struct err e = ERR_INIT;
	for (uint32_t i = 0; i < TYPES; i++) {
		char name[40], label[40];
		snprintf(name, sizeof name, "Space%u.Type", i);
		snprintf(label, sizeof label, "static Space%u.One", i);
		heap_builder_type(b, name, HEAP_TYPE_VARIABLE, 24, NULL);
		heap_builder_root(b, HEAP_ROOT_STATIC, 0, MAKE_HEAP_START + 10000 * (uint64_t)i, 0, label);
	}
	for (uint32_t i = 0; i < TYPES; i++)
		heap_builder_object(b, i, MAKE_HEAP_START + 10000 * (uint64_t)i, 24 + 8 * (i % 100), NULL, 0);
	m.snapshot = heap_builder_finish_take(b);
	m.graph = make_graph(m.snapshot);
	cr_assert_eq(survivors_make(m.graph, &m.s, &e), 0, "%s", e.message);
	cr_expect(m.s.types.count == SURVIVORS_MAX_TYPES && m.s.types.left_out == 50 && m.s.types.left_out_objects == 50);
	uint64_t listed = 0;
	for (uint32_t i = 0; i < m.s.types.count; i++)
		listed += m.s.types.items[i].total.bytes;
	cr_expect_eq(listed + m.s.types.left_out_bytes, m.s.bytes);
	cr_expect_eq(m.s.namespaces.count, SURVIVORS_MAX_GROUPS);
	cr_expect_eq(m.s.holder_count, SURVIVORS_MAX_HOLDERS);
	made_fini(&m);
}
