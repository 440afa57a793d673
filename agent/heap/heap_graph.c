#include "agent/heap/heap_graph_private.h"

#include "agent/heap/heap_budget.h"
#include "agent/heap/heap_dominate.h"
#include "agent/heap/heap_search.h"
#include "common/base/mem.h"
#include "common/base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* From the search's numbers to places in the dominator tree ------------------------------------------------------------------- */

/* Dominators have lower numbers than what they dominate: one way down sums, one way up hands out places. */
static void count_below(uint32_t *below, const uint32_t *dominator, uint32_t count)
{
	memset(below, 0, count * sizeof *below);
	for (uint32_t i = count; i-- > 1;)
		below[dominator[i]] += below[i] + 1;
}

/* `up` becomes a number's place, `least` the next free place below it. */
static void hand_out_places(struct heap_forest *f, const uint32_t *below, const uint32_t *dominator, uint32_t count)
{
	f[0] = (struct heap_forest){0, 1};
	for (uint32_t i = 1; i < count; i++) {
		struct heap_forest *d = &f[dominator[i]];
		f[i] = (struct heap_forest){d->least, d->least + 1};
		d->least += below[i] + 1;
	}
}

/* Each of the search's arrays, once copied to its place in the tree, is room for the next one. */
static int arrange(struct heap_graph *g, struct heap_search *s, struct heap_array *forest, struct err *e)
{
	struct heap_graph_private *own = g->own;
	struct heap_forest *f = forest->data;
	uint32_t *below = s->semi, *dominator = s->parent, count = s->count;

	if (heap_memory_take(&own->memory, &own->node_at, count, sizeof *g->node_at, HEAP_AT_RANDOM, e) < 0)
		return -1;
	g->node_at = own->node_at.data;
	count_below(below, dominator, count);
	hand_out_places(f, below, dominator, count);
	for (uint32_t i = 0; i < count; i++)
		g->node_at[f[i].up] = s->node[i];
	for (uint32_t i = 0; i < count; i++)
		s->number[s->node[i]] = f[i].up;
	g->below = s->node;
	for (uint32_t i = 0; i < count; i++)
		g->below[f[i].up] = below[i];
	g->parent = s->semi;
	for (uint32_t i = 0; i < count; i++)
		g->parent[f[i].up] = f[dominator[i]].up;
	g->place_of = s->number;
	g->placed = count;
	own->place_of = s->number_array;
	own->below = s->node_array;
	own->parent = s->semi_array;
	s->number_array = s->node_array = s->semi_array = (struct heap_array){0};
	own->retained = *forest;
	*forest = (struct heap_array){0};
	return 0;
}

static void sum_retained(struct heap_graph *g)
{
	uint64_t *retained = g->retained = g->own->retained.data;

	for (uint32_t i = 0; i < g->placed; i++)
		retained[i] = heap_graph_size(g, g->node_at[i]);
	for (uint32_t i = g->placed; i-- > 1;)
		retained[g->parent[i]] += retained[i];
}

static void *prepare_totals(void *ctx)
{
	heap_totals_prepare(ctx);
	return NULL;
}

/* By places and by objects: two passes that have nothing to do with each other. */
static void sum(struct heap_graph *g, bool one_thread)
{
	pthread_t thread;
	bool apart = !one_thread && thread_start(&thread, "heap-totals", THREAD_STACK_USUAL, prepare_totals, g, NULL) == 0;

	sum_retained(g);
	if (apart)
		pthread_join(thread, NULL);
	else
		heap_totals_prepare(g);
	for (uint32_t i = 0; i < g->snapshot->type_count; i++)
		for (int k = 0; k < HEAP_GENERATIONS; k++)
			g->dead_bytes += g->own->sums[i][k].dead_bytes;
}

static int dominate(struct heap_graph *g, struct heap_search *s, struct err *e)
{
	struct heap_array forest = {0};

	if (heap_memory_take(s->memory, &forest, s->count, sizeof(struct heap_forest), HEAP_AT_RANDOM, e) < 0)
		return -1;
	struct heap_dominate d = {.count = s->count, .parent = s->parent, .semi = s->semi, .forest = forest.data, .arcs = &s->arcs};
	int rc = heap_dominate(&d, e);
	heap_arcs_fini(&s->arcs);
	if (rc == 0)
		rc = arrange(g, s, &forest, e);
	heap_memory_give(s->memory, &forest);
	return rc;
}

/* The ways from the roots are found beside the search: both only read the rows. */
struct merging {
	struct heap_graph_private *own;
	pthread_t thread;
	bool apart, wanted;
	int rc;
	struct err e;
};

static void *merge_nodes(void *ctx)
{
	struct merging *m = ctx;

	m->rc = heap_merge_run(&m->own->merge, &m->own->nodes, &m->e);
	return NULL;
}

/* `rc` is what became of the search. */
static int finish_merging(struct merging *m, const struct heap_search *s, int rc, struct err *e)
{
	if (m->apart)
		pthread_join(m->thread, NULL);
	else if (m->wanted && rc == 0)
		merge_nodes(m);
	if (!m->wanted || rc < 0)
		return rc;
	if (m->rc < 0 && e)
		*e = m->e;
	if (m->rc == 0)
		heap_merge_finish(&m->own->merge, s->unheld, s->unheld_count);
	return m->rc;
}

/* Two threads want twice the memory: not where there is too little for one. */
static int search_and_merge(struct heap_graph *g, struct heap_search *s, const struct heap_graph_options *o, struct err *e)
{
	struct heap_graph_private *own = g->own;
	struct merging m = {.own = own, .wanted = !o->no_paths};

	if (m.wanted && !o->one_thread && own->memory.spilled == 0)
		m.apart = thread_start(&m.thread, "heap-merge", THREAD_STACK_USUAL, merge_nodes, &m, NULL) == 0;
	int rc = heap_search_run(s, &own->nodes, g->snapshot->facts.way == HEAP_WAY_NO_COLLECTION, o->lasting_first, e);
	rc = finish_merging(&m, s, rc, e);
	heap_rows_fini(&own->nodes.rows);
	return rc;
}

static int make_graph(struct heap_graph *g, const struct heap_graph_options *o, struct err *e)
{
	struct heap_graph_private *own = g->own;
	struct heap_search search;

	if (heap_nodes_init(&own->nodes, g->snapshot, &own->memory, o->one_thread, e) < 0)
		return -1;
	g->objects = own->nodes.count;
	g->root_count = (uint32_t)g->snapshot->root_count;
	g->nodes = HEAP_GRAPH_SUPER(g) + 1;
	g->edges = own->nodes.edges;
	g->lost_edges = own->nodes.lost_edges;
	int rc = search_and_merge(g, &search, o, e);
	if (rc == 0)
		rc = dominate(g, &search, e);
	heap_search_fini(&search);
	if (rc == 0)
		sum(g, o->one_thread);
	g->spilled_bytes = own->memory.spilled;
	return rc;
}

struct heap_graph *heap_graph_new(const struct heap_snapshot *s, const struct heap_graph_options *o, struct err *e)
{
	static const struct heap_graph_options usual = {.dirfd = -1};
	struct heap_graph *g = mem_alloc(sizeof *g);

	if (!o)
		o = &usual;
	g->snapshot = s;
	g->own = mem_alloc(sizeof *g->own);
	heap_memory_init(&g->own->memory, o->memory_bytes ? o->memory_bytes : heap_budget_wide(HEAP_GRAPH_MEMORY, HEAP_BUDGET_GRAPH), o->dirfd);
	if (make_graph(g, o, e) < 0) {
		heap_graph_free(g);
		return NULL;
	}
	return g;
}

void heap_graph_free(struct heap_graph *g)
{
	if (!g)
		return;
	struct heap_graph_private *own = g->own;
	free(own->sums);
	heap_merge_fini(&own->merge);
	heap_nodes_fini(&own->nodes);
	heap_memory_give(&own->memory, &own->place_of);
	heap_memory_give(&own->memory, &own->node_at);
	heap_memory_give(&own->memory, &own->below);
	heap_memory_give(&own->memory, &own->parent);
	heap_memory_give(&own->memory, &own->retained);
	heap_memory_fini(&own->memory);
	free(own);
	free(g);
}

/* Questions ------------------------------------------------------------------------------------------------------------------- */
uint32_t heap_graph_node(const struct heap_graph *g, uint64_t address)
{
	return heap_index_find(&g->own->nodes.index, address);
}

uint32_t heap_graph_holding(const struct heap_graph *g, uint64_t address)
{
	uint32_t node = heap_index_at_or_before(&g->own->nodes.index, address);

	if (node == HEAP_INDEX_NONE || address - heap_graph_address(g, node) >= heap_graph_size(g, node))
		return HEAP_NODE_NONE;
	return node;
}

uint64_t heap_graph_address(const struct heap_graph *g, uint32_t node)
{
	return node < g->objects ? heap_index_address(&g->own->nodes.index, node) : 0;
}

uint32_t heap_graph_type(const struct heap_graph *g, uint32_t node)
{
	return node < g->objects ? heap_nodes_type(&g->own->nodes, node) : HEAP_NODE_NONE;
}

uint64_t heap_graph_size(const struct heap_graph *g, uint32_t node)
{
	return node < g->objects ? heap_nodes_size(&g->own->nodes, node) : 0;
}

enum heap_reach heap_graph_reach(const struct heap_graph *g, uint32_t node)
{
	uint32_t place = g->place_of[node], unheld = g->place_of[HEAP_GRAPH_UNHELD(g)];

	if (place == HEAP_NODE_NONE)
		return HEAP_REACH_NONE;
	return unheld != HEAP_NODE_NONE && place - unheld <= g->below[unheld] ? HEAP_REACH_UNHELD : HEAP_REACH_ROOT;
}

uint32_t heap_graph_dominator(const struct heap_graph *g, uint32_t node)
{
	uint32_t place = g->place_of[node];

	return place == HEAP_NODE_NONE || place == 0 ? HEAP_NODE_NONE : g->node_at[g->parent[place]];
}

uint64_t heap_graph_retained(const struct heap_graph *g, uint32_t node)
{
	return g->place_of[node] == HEAP_NODE_NONE ? heap_graph_size(g, node) : g->retained[g->place_of[node]];
}

const struct heap_merge *heap_graph_merge(const struct heap_graph *g)
{
	return &g->own->merge;
}
