#include "agent/profilers/leak/leak_finding.h"
#include "agent/profilers/leak/leak_take.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000000)
#define BASE UINT64_C(0x7f0000000000)

/* A shop's heap: `orders` in a static dictionary's array, `rows` on a stack, `dead` that nothing holds. Objects lie elsewhere in each
 * one, as if a collection had moved them. */
struct shop {
	uint64_t at;
	uint32_t orders, rows, dead;
	bool all_roots; /* else: those without a collection */
};

static uint64_t put(struct heap_builder *b, uint64_t *next, uint32_t type, uint64_t size, const struct heap_edge *edges, size_t count)
{
	uint64_t at = *next;
	heap_builder_object(b, type, at, size, edges, count);
	*next += (size ? size : 32) / 8 * 8 + 8;
	return at;
}

static struct heap_snapshot *make_heap(const struct shop *s)
{
	struct heap_builder *b = heap_builder_new(false);
	struct heap_edge *slots = mem_calloc(s->orders + 1, sizeof *slots);
	uint64_t next = s->at;
	heap_builder_range(b, HEAP_GEN2, s->at, 0x4000000);
	uint32_t order = heap_builder_type(b, "Shop.Order", 0, 32, NULL);
	uint32_t row = heap_builder_type(b, "Shop.Row", 0, 32, NULL);
	uint32_t array = heap_builder_type(b, "Shop.Order[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, NULL);
	uint32_t cache = heap_builder_type(b, "Shop.Cache", HEAP_TYPE_REFERENCES, 32, "8 _items");
	for (uint32_t i = 0; i < s->orders; i++)
		slots[i] = (struct heap_edge){16 + 8 * i, put(b, &next, order, 32, NULL, 0)};
	struct heap_edge items = {8, put(b, &next, array, 16 + 8 * (uint64_t)s->orders, slots, s->orders)};
	uint64_t held = put(b, &next, cache, 32, &items, 1), first_row = 0;
	for (uint32_t i = 0; i < s->rows + s->dead; i++) {
		uint64_t at = put(b, &next, row, 32, NULL, 0);
		if (i < s->rows)
			heap_builder_root(b, HEAP_ROOT_STACK, 0, at, 0, "stack of Shop.Main (thread 1)");
		if (!first_row)
			first_row = at;
	}
	heap_builder_root(b, HEAP_ROOT_STATIC, 0, held, 0, "static Shop.Cache.Instance");
	free(slots);
	struct heap_snapshot *h = heap_builder_finish_take(b);
	h->facts.way = s->all_roots ? HEAP_WAY_EXACT : HEAP_WAY_NO_COLLECTION;
	return h;
}

static void take(struct leak_model *m, const struct shop *s, int64_t seconds)
{
	struct err e = ERR_INIT;
	struct heap_snapshot *h = make_heap(s);
	struct heap_graph *g = heap_graph_new(h, NULL, &e);
	cr_assert(g, "%s", e.message);
	cr_assert_eq(leak_take(m, g, seconds * SECOND, &e), 0, "%s", e.message);
	heap_graph_free(g);
	heap_snapshot_free(h);
}

Test(leak_take, joins_the_paths_of_heaps_whose_objects_moved)
{
	struct leak_model m;
	struct leak_diagnosis d;
	leak_model_init(&m);
	take(&m, &(struct shop){BASE, 1000, 2000, 3000, true}, 0);
	take(&m, &(struct shop){BASE + 0x10000000, 41000, 2000, 1000, true}, 30);
	take(&m, &(struct shop){BASE + 0x20000000, 81000, 2000, 1000, true}, 60);
	cr_assert_eq(m.walk_count, 3);
	cr_expect_eq(m.walks[0].objects, 1000 + 2000 + 2);
	cr_expect_eq(m.walks[0].loose_objects, 3000);
	cr_expect_eq(m.walks[0].loose_bytes, 3000 * 32);
	cr_expect_eq(m.walks[2].objects, 81000 + 2000 + 2);
	leak_diagnosis_make(&m, &d);
	cr_expect_eq(d.finding, LEAK_FOUND_GROWS, "%s", d.text);
	cr_assert_eq(d.groups.count, 1, "%s", d.text);
	cr_expect_eq(d.groups.items[0].grown_count, 80000);
	cr_expect_eq(d.groups.items[0].grown_bytes, 80000 * 40);
	cr_expect(strstr(d.text, "Path: static Shop.Cache.Instance -> Cache._items -> Order[] -> Order\n"), "%s", d.text);
	leak_diagnosis_fini(&d);
	leak_model_fini(&m);
}

static uint32_t type_of(const struct leak_model *m, const char *name)
{
	uint32_t i = 0;
	while (i < m->type_count && strcmp(leak_model_text(m, m->types[i].name), name) != 0)
		i++;
	cr_assert_lt(i, m->type_count, "%s", name);
	return i;
}

Test(leak_take, what_no_known_root_holds_does_not_count_as_held)
{
	for (int all = 0; all < 2; all++) {
		struct leak_model m;
		struct leak_diagnosis d;
		leak_model_init(&m);
		take(&m, &(struct shop){BASE, 1000, 10, 3000, all}, 0);
		take(&m, &(struct shop){BASE, 1000, 10, 90000, all}, 60);
		cr_expect_eq(m.walks[1].objects, 1000 + 10 + 2);
		cr_expect_eq(m.walks[1].loose_objects, 90000);
		uint32_t row = type_of(&m, "Shop.Row");
		cr_expect_eq(leak_model_type_at(&m, row, 1)->count, 10);
		cr_expect_eq(leak_model_type_at(&m, row, 1)->loose_count, 90000);
		leak_diagnosis_make(&m, &d);
		cr_expect_eq(d.finding, LEAK_FOUND_CHURN, "%s", d.text);
		cr_expect_eq(d.held_bytes, 0);
		leak_diagnosis_fini(&d);
		leak_model_fini(&m);
	}
}

Test(leak_take, ten_walks_and_no_more)
{
	struct leak_model m;
	struct err e = ERR_INIT;
	leak_model_init(&m);
	for (int i = 0; i < LEAK_MAX_WALKS; i++)
		take(&m, &(struct shop){BASE, 100, 10, 10, true}, i);
	struct heap_snapshot *h = make_heap(&(struct shop){BASE, 100, 10, 10, true});
	struct heap_graph *g = heap_graph_new(h, NULL, &e);
	cr_assert(g, "%s", e.message);
	cr_expect_eq(leak_take(&m, g, 0, &e), -1);
	heap_graph_free(g);
	heap_snapshot_free(h);
	leak_model_fini(&m);
}

Test(leak_take, counts_of_types_and_walks_with_holders_in_one_session)
{
	struct leak_model m;
	struct err e = ERR_INIT;
	leak_model_init(&m);
	take(&m, &(struct shop){BASE, 1000, 10, 5, true}, 0);
	struct heap_builder *b = heap_builder_new(false);
	uint32_t order = heap_builder_type(b, "Shop.Order", 0, 32, NULL), row = heap_builder_type(b, "Shop.Row", 0, 32, NULL);
	heap_builder_counted(b, order, HEAP_GEN2, 3000, 96000);
	heap_builder_counted(b, row, HEAP_GEN0, 40, 1280);
	struct heap_snapshot *s = heap_builder_finish_take(b);
	cr_assert_eq(leak_take_counts(&m, s, 60 * SECOND, &e), 0);
	heap_snapshot_free(s);
	cr_expect(m.walks[1].types_only && !m.walks[0].types_only && leak_model_types_only(&m));
	cr_expect(m.walks[1].objects == 3040 && m.walks[1].bytes == 97280 && m.walks[1].loose_objects == 0);
	leak_model_count_all(&m);
	const struct leak_type_figures *f = leak_model_type_at(&m, leak_model_type(&m, "Shop.Row", "Test.dll"), 0);
	cr_expect(f[0].count == 15 && f[0].loose_count == 0 && f[1].count == 40 && f[1].old_bytes == 0, "garbage counts in both");
	f = leak_model_type_at(&m, leak_model_type(&m, "Shop.Order", "Test.dll"), 0);
	cr_expect(f[0].count == 1000 && f[1].count == 3000 && f[1].old_bytes == 96000);
	leak_model_fini(&m);
}
