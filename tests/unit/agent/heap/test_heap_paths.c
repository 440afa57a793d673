#include "agent/heap/heap_paths.h"
#include "tests/unit/agent/heap/make_heap.h"

#define BASE UINT64_C(0x7f0000000000)
#define ORDERS 3000

/* A heap by hand: objects are made one after another, each with edges to objects whose addresses are known. */
struct shop {
	struct heap_builder *b;
	uint64_t next;
	uint32_t order, text, entries, dictionary, node, list, blob;
};

static void open_shop(struct shop *s)
{
	*s = (struct shop){.b = heap_builder_new(false), .next = BASE};
	heap_builder_range(s->b, HEAP_GEN2, BASE, 0x40000000);
	s->order = heap_builder_type(s->b, "Shop.Order", HEAP_TYPE_REFERENCES, 32, "8 _customer, 16 _note");
	s->text = heap_builder_type(s->b, "System.String", HEAP_TYPE_STRING | HEAP_TYPE_VARIABLE, 24, NULL);
	s->entries = heap_builder_type(s->b, "Entry[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, NULL);
	s->dictionary = heap_builder_type(s->b, "Dictionary", HEAP_TYPE_REFERENCES, 80, "8 _buckets, 16 _entries");
	s->node = heap_builder_type(s->b, "Shop.Node", HEAP_TYPE_REFERENCES, 32, "8 _next, 16 _value");
	s->list = heap_builder_type(s->b, "Shop.List", HEAP_TYPE_REFERENCES, 24, "8 _head");
	s->blob = heap_builder_type(s->b, "Byte[]", HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, NULL);
}

static uint64_t put(struct shop *s, uint32_t type, uint64_t size, const struct heap_edge *edges, size_t count)
{
	uint64_t at = s->next;

	heap_builder_object(s->b, type, at, size, edges, count);
	s->next += (size + 7) / 8 * 8;
	return at;
}

/* Orders with a note each, below a dictionary. */
static uint64_t put_cache(struct shop *s)
{
	static struct heap_edge slots[ORDERS];

	for (uint32_t i = 0; i < ORDERS; i++) {
		const struct heap_edge note = {16, put(s, s->text, 50, NULL, 0)};
		slots[i] = (struct heap_edge){16 + 8 * i, put(s, s->order, 32, &note, 1)};
	}
	const struct heap_edge entries = {16, put(s, s->entries, 16 + 8 * ORDERS, slots, ORDERS)};
	return put(s, s->dictionary, 80, &entries, 1);
}

static uint64_t put_list(struct shop *s, uint32_t nodes)
{
	uint64_t next = 0;

	for (uint32_t i = 0; i < nodes; i++) {
		const struct heap_edge edges[2] = {{8, next}, {16, put(s, s->text, 40, NULL, 0)}};
		next = put(s, s->node, 32, next ? edges : edges + 1, next ? 2 : 1);
	}
	const struct heap_edge head = {8, next};
	return put(s, s->list, 24, &head, 1);
}

static struct heap_graph *close_shop(struct shop *s, enum heap_way way, struct heap_snapshot **snapshot)
{
	struct err e = ERR_INIT;

	*snapshot = heap_builder_finish_take(s->b);
	(*snapshot)->facts.way = way;
	struct heap_graph *g = heap_graph_new(*snapshot, NULL, &e);
	cr_assert_not_null(g, "%s", e.message);
	return g;
}

Test(heap_paths, name_the_static_the_fields_and_the_many)
{
	struct heap_snapshot *snapshot;
	struct heap_paths paths;
	struct shop s;

	open_shop(&s);
	uint64_t cache = put_cache(&s), list = put_list(&s, 1000), blob = put(&s, s.blob, 90000, NULL, 0);
	heap_builder_root(s.b, HEAP_ROOT_STACK, 0, cache, 0, "stack of Shop.Main");
	heap_builder_root(s.b, HEAP_ROOT_HANDLE, HEAP_ROOT_PINNED, blob, 0, "handle (pinned)");
	heap_builder_root(s.b, HEAP_ROOT_STATIC, 0, list, 0, "static Shop.Log._list");
	heap_builder_root(s.b, HEAP_ROOT_STATIC, 0, cache, 0, "static Shop.Cache._items");
	struct heap_graph *g = close_shop(&s, HEAP_WAY_EXACT, &snapshot);
	cr_assert_eq(heap_paths_find(g, 1000, 10, &paths, NULL), 0);
	cr_assert_eq(paths.count, 3);
	cr_expect_eq(paths.reached_bytes, g->retained[0]);

	const struct heap_path *p = &paths.paths[0];
	cr_expect_str_eq(p->label, "static Shop.Cache._items", "what lasts longest, not the stack: %s", p->label);
	cr_expect_eq(p->kind, HEAP_ROOT_STATIC);
	cr_assert_eq(p->step_count, 3);
	cr_expect_eq(p->steps[0].type, s.dictionary);
	cr_expect_str_eq(p->steps[0].field, "");
	cr_expect_eq(p->steps[1].type, s.entries);
	cr_expect_str_eq(p->steps[1].field, "_entries");
	cr_expect_eq(p->steps[2].type, s.order);
	cr_expect_str_eq(p->steps[2].field, "[]");
	cr_expect_eq(p->steps[2].count, ORDERS);
	cr_expect_eq(p->steps[2].bytes, 32 * ORDERS);
	cr_expect_eq(p->held, (32 + 56) * ORDERS);

	p = &paths.paths[1];
	cr_expect_str_eq(p->label, "handle (pinned)");
	cr_assert_eq(p->step_count, 1);
	cr_expect_eq(p->held, 90000);

	p = &paths.paths[2];
	cr_expect_str_eq(p->label, "static Shop.Log._list");
	cr_assert_eq(p->step_count, 2);
	cr_expect_str_eq(p->steps[1].field, "_head");
	cr_expect_eq(p->steps[1].count, 1000);
	cr_expect(p->steps[1].nested);
	cr_expect_eq(p->held, 72 * 1000);
	heap_paths_fini(&paths);
	heap_graph_free(g);
	heap_snapshot_free(snapshot);
}

#define TIMERS 400

/* The runtime's list of timers, one of which, in the middle, a static holds as well. */
static uint64_t put_timers(struct shop *s, uint32_t queue_type, uint64_t *kept)
{
	uint32_t timer_type = heap_builder_type(s->b, "System.Threading.TimerQueueTimer", HEAP_TYPE_REFERENCES, 40, "8 _next, 16 _prev, 24 _callback");
	uint64_t first = s->next + TIMERS * 32, at[TIMERS];

	for (uint32_t i = 0; i < TIMERS; i++)
		at[i] = first + (uint64_t)i * 40;
	uint64_t callbacks = s->next;
	for (uint32_t i = 0; i < TIMERS; i++)
		put(s, s->order, 32, NULL, 0);
	for (uint32_t i = 0; i < TIMERS; i++) {
		struct heap_edge edges[3];
		size_t count = 0;
		if (i + 1 < TIMERS)
			edges[count++] = (struct heap_edge){8, at[i + 1]};
		if (i)
			edges[count++] = (struct heap_edge){16, at[i - 1]};
		edges[count++] = (struct heap_edge){24, callbacks + (uint64_t)i * 32};
		put(s, timer_type, 40, edges, count);
	}
	*kept = at[TIMERS / 2];
	const struct heap_edge head = {8, at[0]};
	return put(s, queue_type, 24, &head, 1);
}

static void expect_timers(bool queue_held, const char *label)
{
	struct heap_snapshot *snapshot;
	struct heap_paths paths;
	struct shop s;
	uint64_t kept;

	open_shop(&s);
	uint32_t queue_type = heap_builder_type(s.b, "System.Threading.TimerQueue", HEAP_TYPE_REFERENCES, 24, "8 _shortTimers");
	uint64_t queue = put_timers(&s, queue_type, &kept);
	heap_builder_root(s.b, HEAP_ROOT_STATIC, 0, kept, 0, "static Shop.Jobs._nightly");
	if (queue_held)
		heap_builder_root(s.b, HEAP_ROOT_STATIC, 0, queue, 0, "static System.Threading.TimerQueue.Instances");
	struct heap_graph *g = close_shop(&s, HEAP_WAY_EXACT, &snapshot);
	cr_assert_eq(heap_paths_find(g, 1000, 10, &paths, NULL), 0);
	cr_assert_eq(paths.count, 1);
	cr_expect_str_eq(paths.paths[0].label, label);
	cr_expect_eq(paths.paths[0].steps[paths.paths[0].step_count - 1].count, TIMERS);
	heap_paths_fini(&paths);
	heap_graph_free(g);
	heap_snapshot_free(snapshot);
}

Test(heap_paths, who_keeps_one_timer_does_not_hold_its_neighbours)
{
	expect_timers(true, "static System.Threading.TimerQueue.Instances");
	expect_timers(false, "static Shop.Jobs._nightly");
}

/* No root of the cache is known. Its dictionary and the ring around it are found as what holds it, not one of its orders. */
Test(heap_paths, what_no_known_root_holds_hangs_below_its_holders)
{
	struct heap_snapshot *snapshot;
	struct heap_paths paths;
	struct shop s;

	open_shop(&s);
	uint64_t cache = put_cache(&s), list = put_list(&s, 10);
	const struct heap_edge to_ring = {8, s.next + 32}, from_ring[2] = {{8, s.next}, {16, cache}};
	uint64_t ring = put(&s, s.node, 32, &to_ring, 1);
	put(&s, s.node, 32, from_ring, 2);
	heap_builder_root(s.b, HEAP_ROOT_STATIC, 0, list, 0, "static Shop.Log._list");
	struct heap_graph *g = close_shop(&s, HEAP_WAY_NO_COLLECTION, &snapshot);
	cr_expect_eq(g->dead_bytes, 0);
	cr_expect_eq(heap_graph_reach(g, heap_graph_node(g, cache)), HEAP_REACH_UNHELD);
	cr_expect_eq(heap_graph_reach(g, heap_graph_node(g, list)), HEAP_REACH_ROOT);
	cr_expect_eq(g->below[g->place_of[HEAP_GRAPH_UNHELD(g)]], 2 + 2 + 2 * ORDERS);
	cr_expect_gt(heap_graph_retained(g, heap_graph_node(g, cache)), 88 * ORDERS);
	cr_expect_eq(heap_graph_dominator(g, heap_graph_dominator(g, heap_graph_node(g, cache))), heap_graph_node(g, ring));
	cr_expect_eq(heap_graph_dominator(g, heap_graph_node(g, ring)), HEAP_GRAPH_UNHELD(g));
	cr_assert_eq(heap_paths_find(g, 20000, 10, &paths, NULL), 0);
	cr_assert_eq(paths.count, 1);
	cr_expect_eq(paths.paths[0].kind, 0);
	cr_expect_eq(paths.paths[0].roots, 1);
	cr_expect_eq(paths.paths[0].step_count, 4);
	heap_paths_fini(&paths);
	heap_graph_free(g);
	heap_snapshot_free(snapshot);
}

/* What an event holds are widgets, not delegates. */
Test(heap_paths, lead_beyond_what_belongs_to_the_runtime)
{
	enum { WIDGETS = 500 };
	static struct heap_edge slots[WIDGETS];
	struct heap_snapshot *snapshot;
	struct heap_paths paths;
	struct shop s;

	open_shop(&s);
	uint32_t handler = heap_builder_type(s.b, "System.EventHandler", HEAP_TYPE_REFERENCES, 64, "8 _target, 16 _methodBase, 24 _invocationList");
	uint32_t widget = heap_builder_type(s.b, "Shop.Widget", HEAP_TYPE_REFERENCES, 96, "8 _title");
	uint32_t list = heap_builder_type(s.b, "System.Object[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, NULL);
	for (uint32_t i = 0; i < WIDGETS; i++) {
		const struct heap_edge title = {8, put(&s, s.text, 40, NULL, 0)}, target = {8, put(&s, widget, 96, &title, 1)};
		slots[i] = (struct heap_edge){16 + 8 * i, put(&s, handler, 64, &target, 1)};
	}
	const struct heap_edge all = {24, put(&s, list, 16 + 8 * WIDGETS, slots, WIDGETS)};
	heap_builder_root(s.b, HEAP_ROOT_STATIC, 0, put(&s, handler, 64, &all, 1), 0, "static Shop.Feed.Changed");
	struct heap_graph *g = close_shop(&s, HEAP_WAY_EXACT, &snapshot);
	cr_assert_eq(heap_paths_find(g, 20000, 4, &paths, NULL), 0);
	cr_assert_eq(paths.count, 1);
	const struct heap_path *p = &paths.paths[0];
	const struct heap_step *last = &p->steps[p->step_count - 1];
	cr_expect_eq(last->type, widget);
	cr_expect_eq(last->count, WIDGETS);
	cr_expect_str_eq(last->field, "_target");
	cr_expect_eq(last->held, (96 + 40) * WIDGETS);
	heap_paths_fini(&paths);
	heap_graph_free(g);
	heap_snapshot_free(snapshot);
}

Test(heap_paths, a_table_of_weak_keys_holds_by_no_field)
{
	struct heap_snapshot *snapshot;
	struct heap_paths paths;
	struct shop s;

	open_shop(&s);
	uint64_t key = put_list(&s, 1), blob = put(&s, s.blob, 90000, NULL, 0), other = put(&s, s.blob, 5000, NULL, 0);
	heap_builder_root(s.b, HEAP_ROOT_STATIC, 0, key, 0, "static Shop.Key");
	heap_builder_root(s.b, HEAP_ROOT_DEPENDENT, 0, key, blob, "dependent handle");
	heap_builder_root(s.b, HEAP_ROOT_DEPENDENT, 0, other, blob, "dependent handle");
	struct heap_graph *g = close_shop(&s, HEAP_WAY_EXACT, &snapshot);
	cr_expect_eq(heap_graph_dominator(g, heap_graph_node(g, blob)), heap_graph_node(g, key));
	cr_expect_eq(heap_graph_reach(g, heap_graph_node(g, other)), HEAP_REACH_NONE, "keys are not kept");
	cr_assert_eq(heap_paths_find(g, 50000, 4, &paths, NULL), 0);
	cr_assert_eq(paths.count, 1);
	cr_assert_eq(paths.paths[0].step_count, 2);
	cr_expect_str_eq(paths.paths[0].steps[1].field, "(ConditionalWeakTable)");
	heap_paths_fini(&paths);
	heap_graph_free(g);
	heap_snapshot_free(snapshot);
}

Test(heap_paths, all_that_is_reached_is_held_once)
{
	static const struct heap_shape_of_test shapes[] = {
		{"some", 60, 8, 4, 0, 0, 10, 10, false},
		{"a chain", 60, 3, 1, 0, 1, 10, 10, false},
		{"hardly any roots", 60, 2, 4, 0, 0, 10, 10, true},
	};
	static struct heap_test t;

	for (unsigned seed = 1; seed <= 300; seed++) {
		struct err e = ERR_INIT;
		struct heap_snapshot *s = heap_test_make(&t, &shapes[seed % 3], seed);
		struct heap_graph *g = heap_graph_new(s, NULL, &e);
		struct heap_paths paths;
		cr_assert_not_null(g, "%s", e.message);
		cr_assert_eq(heap_paths_find(g, 1, 64, &paths, &e), 0);
		uint64_t held = 0;
		for (size_t i = 0; i < paths.count; i++) {
			const struct heap_path *p = &paths.paths[i];
			held += p->held;
			cr_assert(i == 0 || paths.paths[i - 1].held >= p->held);
			cr_assert_gt(p->step_count, 0);
			cr_assert_eq(p->steps[p->step_count - 1].held, p->held);
			for (size_t k = 0; k < p->step_count; k++) {
				cr_assert_eq(heap_graph_type(g, p->steps[k].sample), p->steps[k].type);
				cr_assert(k == 0 || p->steps[k - 1].held >= p->steps[k].held);
			}
		}
		cr_assert_leq(held, g->retained[0]);
		cr_assert_eq(g->dead_bytes, shapes[seed % 3].unheld ? 0 : g->dead_bytes);
		heap_paths_fini(&paths);
		heap_graph_free(g);
		heap_snapshot_free(s);
	}
}

Test(heap_paths, a_graph_made_without_them_has_none)
{
	const struct heap_graph_options o = {.dirfd = -1, .no_paths = true};
	struct heap_paths paths;
	struct shop s;

	open_shop(&s);
	heap_builder_root(s.b, HEAP_ROOT_STATIC, 0, put_list(&s, 10), 0, "static");
	struct heap_snapshot *snapshot = heap_builder_finish_take(s.b);
	struct heap_graph *g = heap_graph_new(snapshot, &o, NULL);
	cr_assert_not_null(g);
	cr_expect_eq(heap_paths_find(g, 1, 8, &paths, NULL), -1);
	cr_expect_eq(paths.count, 0);
	heap_paths_fini(&paths);
	heap_graph_free(g);
	heap_snapshot_free(snapshot);
}

/* Big enough for two threads from the start. Runs under tsan, too. */
Test(heap_paths, two_threads_make_the_same_graph_as_one, .timeout = 120)
{
	const struct heap_graph_options one = {.dirfd = -1, .one_thread = true}, little = {.dirfd = -1, .memory_bytes = 1 << 20};
	const struct heap_graph_options *const ways[] = {NULL, &one, &little};
	struct heap_graph *graphs[3];
	struct heap_paths paths[3];
	struct shop s;

	open_shop(&s);
	uint64_t cache = put_cache(&s), list = put_list(&s, 100000);
	heap_builder_root(s.b, HEAP_ROOT_STATIC, 0, list, 0, "static Shop.Log._list");
	heap_builder_root(s.b, HEAP_ROOT_STATIC, 0, cache, 0, "static Shop.Cache._items");
	struct heap_snapshot *snapshot = heap_builder_finish_take(s.b);
	for (int i = 0; i < 3; i++) {
		struct err e = ERR_INIT;
		graphs[i] = heap_graph_new(snapshot, ways[i], &e);
		cr_assert_not_null(graphs[i], "%s", e.message);
		cr_assert_eq(heap_paths_find(graphs[i], 1000, 4, &paths[i], NULL), 0);
	}
	cr_expect_eq(graphs[0]->spilled_bytes, 0);
	cr_expect_gt(graphs[2]->spilled_bytes, 1 << 20);
	for (int i = 1; i < 3; i++) {
		cr_assert_eq(graphs[i]->placed, graphs[0]->placed);
		cr_expect_eq(memcmp(graphs[i]->retained, graphs[0]->retained, graphs[0]->placed * sizeof(uint64_t)), 0);
		cr_expect_eq(memcmp(graphs[i]->place_of, graphs[0]->place_of, graphs[0]->nodes * sizeof(uint32_t)), 0);
		cr_assert_eq(paths[i].count, 2);
		for (int k = 0; k < 2; k++) {
			cr_expect_eq(paths[i].paths[k].held, paths[0].paths[k].held);
			cr_expect_eq(paths[i].paths[k].label, paths[0].paths[k].label);
			cr_expect_eq(paths[i].paths[k].step_count, paths[0].paths[k].step_count);
		}
	}
	for (int i = 0; i < 3; i++) {
		heap_paths_fini(&paths[i]);
		heap_graph_free(graphs[i]);
	}
	heap_snapshot_free(snapshot);
}
