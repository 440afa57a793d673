#include "agent/heap/heap_dominators.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define PASSES_ON_PERCENT 80 /* of what a holder retains: less, and it fans out */

struct candidate {
	uint32_t place, root, above;
};

struct top {
	const struct heap_graph *g;
	uint64_t least;
	struct candidate *items; /* a heap: the one that retains most on top */
	size_t count, cap;
	uint64_t *part_bytes, *part_counts; /* by type */
};

static bool retains_more(const struct top *t, const struct candidate *a, const struct candidate *b)
{
	uint64_t x = t->g->retained[a->place], y = t->g->retained[b->place];

	return x != y ? x > y : a->place < b->place;
}

static void push_candidate(struct top *t, struct candidate c)
{
	size_t at = t->count;

	GROW(t->items, t->count, t->cap);
	for (t->count++; at > 0 && retains_more(t, &c, &t->items[(at - 1) / 2]); at = (at - 1) / 2)
		t->items[at] = t->items[(at - 1) / 2];
	t->items[at] = c;
}

static struct candidate pop_candidate(struct top *t)
{
	struct candidate best = t->items[0], last = t->items[--t->count];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= t->count)
			break;
		if (child + 1 < t->count && retains_more(t, &t->items[child + 1], &t->items[child]))
			child++;
		if (!retains_more(t, &t->items[child], &last))
			break;
		t->items[at] = t->items[child];
		at = child;
	}
	t->items[at] = last;
	return best;
}

#define EACH_CHILD(g, child, place)                                                                               \
	for (uint32_t child = (place) + 1, end_ = (place) + (g)->below[place] + 1; child < end_; child += (g)->below[child] + 1)

static void push_child_nodes(struct top *t, uint32_t place, uint32_t root, uint32_t above, uint32_t but)
{
	EACH_CHILD(t->g, child, place)
		if (child != but && t->g->retained[child] >= t->least)
			push_candidate(t, (struct candidate){child, root, above});
}

static uint32_t heaviest_child_node(const struct heap_graph *g, uint32_t place)
{
	uint32_t best = HEAP_NODE_NONE;

	EACH_CHILD(g, child, place)
		if (best == HEAP_NODE_NONE || g->retained[child] > g->retained[best])
			best = child;
	return best;
}

static bool same_type(const struct heap_graph *g, uint32_t a, uint32_t b)
{
	return heap_graph_type(g, g->node_at[a]) == heap_graph_type(g, g->node_at[b]);
}

/* Down to where the bytes fan out. A list passes on nearly all from each to the next: its first one is where they gather. */
static uint32_t find_gathering_node(const struct heap_graph *g, uint32_t from)
{
	uint32_t at = from, before = HEAP_NODE_NONE;

	for (;;) {
		uint32_t next = heaviest_child_node(g, at);
		if (next == HEAP_NODE_NONE || g->retained[next] < g->retained[from] / 100 * PASSES_ON_PERCENT)
			return at;
		if (same_type(g, next, at) || (before != HEAP_NODE_NONE && same_type(g, next, before)))
			return at;
		before = at;
		at = next;
	}
}

/* The holders below: beside the way from the holder to where it gathers, below that, and of a list below any of its members. */
static void offer_below(struct top *t, uint32_t from, uint32_t gathered, uint32_t root, uint32_t above)
{
	const struct heap_graph *g = t->g;
	uint32_t at = from, before = HEAP_NODE_NONE;

	for (;;) {
		uint32_t next = heaviest_child_node(g, at);
		bool on_way = next != HEAP_NODE_NONE && gathered - next <= g->below[next];
		bool listed = next != HEAP_NODE_NONE && at >= gathered && g->retained[next] >= t->least &&
			      (same_type(g, next, at) || (before != HEAP_NODE_NONE && same_type(g, next, before)));
		push_child_nodes(t, at, root, above, on_way || listed ? next : HEAP_NODE_NONE);
		if (!on_way && !listed)
			return;
		before = at;
		at = next;
	}
}

static void find_parts(struct top *t, uint32_t gathered, struct heap_holder *h)
{
	const struct heap_graph *g = t->g;

	EACH_CHILD(g, child, gathered) {
		uint32_t type = heap_graph_type(g, g->node_at[child]);
		t->part_bytes[type] += g->retained[child];
		t->part_counts[type]++;
		if (t->part_bytes[type] > h->part_bytes) {
			h->part_bytes = t->part_bytes[type];
			h->part_type = type;
		}
	}
	h->part_count = h->part_type == HEAP_NODE_NONE ? 0 : t->part_counts[h->part_type];
	EACH_CHILD(g, child, gathered) {
		uint32_t type = heap_graph_type(g, g->node_at[child]);
		t->part_bytes[type] = t->part_counts[type] = 0;
	}
}

static void describe_holder(struct top *t, const struct candidate *c, struct heap_holder *h)
{
	const struct heap_graph *g = t->g;
	uint32_t gathered = find_gathering_node(g, c->place);

	*h = (struct heap_holder){
		.node = g->node_at[c->place],
		.root = c->root,
		.above = c->above,
		.gathered = g->node_at[gathered],
		.retained = g->retained[c->place],
		.gathered_retained = g->retained[gathered],
		.count = (uint64_t)g->below[c->place] + 1,
		.part_type = HEAP_NODE_NONE,
	};
	find_parts(t, gathered, h);
}

/* Below the super-root: objects, and roots above one object each (HEAP_GRAPH_UNHELD above many). */
static void offer_first(struct top *t)
{
	const struct heap_graph *g = t->g;

	if (g->placed == 0)
		return;
	EACH_CHILD(g, child, 0)
		if (g->node_at[child] < g->objects) {
			if (g->retained[child] >= t->least)
				push_candidate(t, (struct candidate){child, HEAP_NODE_NONE, HEAP_NODE_NONE});
		} else
			push_child_nodes(t, child, g->node_at[child], HEAP_NODE_NONE, HEAP_NODE_NONE);
}

size_t heap_dominators_top(const struct heap_graph *g, uint64_t least_bytes, struct heap_holder *out, size_t max)
{
	struct top t = {.g = g, .least = least_bytes ? least_bytes : 1};
	size_t types = (size_t)g->snapshot->type_count + 1, count = 0;

	t.part_bytes = mem_calloc(types, sizeof *t.part_bytes);
	t.part_counts = mem_calloc(types, sizeof *t.part_counts);
	offer_first(&t);
	while (t.count && count < max) {
		struct candidate c = pop_candidate(&t);
		describe_holder(&t, &c, &out[count]);
		offer_below(&t, c.place, g->place_of[out[count].gathered], c.root, (uint32_t)count);
		count++;
	}
	free(t.items);
	free(t.part_bytes);
	free(t.part_counts);
	return count;
}
