/* Random heaps of a given shape, and the slow truth about them: whom a node dominates is what cannot be reached any more without it. */
#ifndef DRDOTNET_TEST_MAKE_HEAP_H
#define DRDOTNET_TEST_MAKE_HEAP_H

#include "agent/heap/heap_graph.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_TEST_MAX 96 /* nodes, roots included */
#define HEAP_TEST_TYPES 5

struct heap_test {
	unsigned seed;
	uint32_t objects, roots, nodes;
	uint64_t free_bytes;
	uint64_t address[HEAP_TEST_MAX], size[HEAP_TEST_MAX];
	uint32_t type[HEAP_TEST_MAX];
	bool holds[HEAP_TEST_MAX][HEAP_TEST_MAX]; /* numbering of heap_graph.h */
	bool reached[HEAP_TEST_MAX];
	bool dominates[HEAP_TEST_MAX][HEAP_TEST_MAX];
};

static inline uint32_t heap_test_below(struct heap_test *t, uint32_t n)
{
	return n ? (uint32_t)rand_r(&t->seed) % n : 0;
}

/* Chances in percent. */
struct heap_shape_of_test {
	const char *name;
	uint32_t objects, roots;
	uint32_t edge_percent; /* of all pairs */
	uint32_t forward_only; /* edges go up only */
	uint32_t chain;        /* each holds the next one */
	uint32_t weak, dependent;
	bool unheld;
};

static inline void heap_test_layout(struct heap_test *t)
{
	uint64_t at = 0x7f0000000000;

	for (uint32_t i = 0; i < t->objects; i++) {
		switch (heap_test_below(t, 12)) {
		case 0:
			at = (at + 0x400000) & ~UINT64_C(0x3fffff); /* the next region */
			break;
		case 1:
			at += 8 * (uint64_t)heap_test_below(t, 4000);
		}
		t->type[i] = heap_test_below(t, HEAP_TEST_TYPES);
		t->address[i] = at;
		t->size[i] = t->type[i] < 2 ? 24 : t->type[i] == 4 && heap_test_below(t, 9) == 0 ? 32760 + 8 * heap_test_below(t, 3) :
					    800 + heap_test_below(t, 100);
		at += (t->size[i] + 7) / 8 * 8;
	}
}

static inline void heap_test_edges(struct heap_test *t, const struct heap_shape_of_test *shape)
{
	for (uint32_t a = 0; a < t->objects; a++)
		for (uint32_t b = shape->forward_only ? a + 1 : 0; b < t->objects; b++)
			if (t->type[a] != 0 && ((shape->chain && b == a + 1) || heap_test_below(t, 1000) < shape->edge_percent * 10))
				t->holds[a][b] = true;
}

static inline void heap_test_put_object(struct heap_builder *b, struct heap_test *t, uint32_t i)
{
	struct heap_edge edges[HEAP_TEST_MAX + 4];
	size_t count = 0;
	uint32_t most = t->type[i] == 1 ? 2 : HEAP_TEST_MAX; /* of 24 bytes, only two are fields */

	for (uint32_t k = 0; k < t->objects; k++) {
		if (t->holds[i][k] && count == most)
			t->holds[i][k] = false;
		if (t->holds[i][k]) {
			edges[count] = (struct heap_edge){(uint32_t)(8 + 8 * count), t->address[k]};
			count++;
		}
	}
	if (t->type[i] > 1 && heap_test_below(t, 5) == 0) { /* twice, to itself, to nowhere */
		edges[count] = (struct heap_edge){(uint32_t)(8 + 8 * count), count ? edges[0].target : t->address[i]};
		count++;
		edges[count] = (struct heap_edge){(uint32_t)(8 + 8 * count), t->address[i]};
		count++;
		edges[count] = (struct heap_edge){(uint32_t)(8 + 8 * count), 0x5500000000};
		count++;
	}
	heap_builder_object(b, t->type[i], t->address[i], t->type[i] < 2 ? 0 : t->size[i], edges, count);
	t->size[i] = (t->size[i] + 7) / 8 * 8;
}

static inline void heap_test_put_roots(struct heap_builder *b, struct heap_test *t, const struct heap_shape_of_test *shape)
{
	for (uint32_t i = 0; i < t->roots; i++) {
		uint32_t node = t->objects + i, to = heap_test_below(t, t->objects);
		char label[32];
		snprintf(label, sizeof label, "root %u", heap_test_below(t, 4));
		if (!t->objects || heap_test_below(t, 20) == 0) {
			heap_builder_root(b, HEAP_ROOT_STACK, HEAP_ROOT_CONSERVATIVE, 0x1234560, 0, label);
		} else if (heap_test_below(t, 100) < shape->weak) {
			heap_builder_root(b, HEAP_ROOT_HANDLE, HEAP_ROOT_WEAK, t->address[to], 0, label);
		} else if (heap_test_below(t, 100) < shape->dependent) {
			uint32_t second = heap_test_below(t, t->objects);
			heap_builder_root(b, HEAP_ROOT_DEPENDENT, 0, t->address[to], t->address[second], label);
			t->holds[to][second] = true;
		} else if (heap_test_below(t, 3) == 0) {
			heap_builder_root(b, HEAP_ROOT_STACK, HEAP_ROOT_INTERIOR, t->address[to] + 8 * heap_test_below(t, 3), 0, label);
			t->holds[node][to] = true;
		} else {
			heap_builder_root(b, HEAP_ROOT_STATIC, 0, t->address[to], 0, label);
			t->holds[node][to] = true;
		}
		t->holds[t->nodes - 1][node] = t->objects && memchr(t->holds[node], 1, t->objects);
	}
}

static inline struct heap_snapshot *heap_test_make(struct heap_test *t, const struct heap_shape_of_test *shape, unsigned seed)
{
	struct heap_builder *b = heap_builder_new(false);

	memset(t, 0, sizeof *t);
	t->seed = seed;
	t->objects = heap_test_below(t, shape->objects + 1);
	t->roots = heap_test_below(t, shape->roots + 1);
	t->nodes = t->objects + t->roots + 2;
	heap_test_layout(t);
	heap_test_edges(t, shape);
	heap_builder_type(b, "Shop.Leaf", 0, 24, NULL);
	heap_builder_type(b, "Shop.Pair", HEAP_TYPE_REFERENCES, 24, "8 left, 16 right");
	heap_builder_type(b, "Array[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, NULL);
	heap_builder_type(b, "Other[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, NULL);
	heap_builder_type(b, "Big[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, NULL);
	heap_builder_range(b, HEAP_GEN2, 0x7f0000000000, 0x400000);
	uint32_t free_space = heap_builder_type(b, "Free", HEAP_TYPE_FREE | HEAP_TYPE_VARIABLE, 24, NULL);
	uint32_t start = heap_test_below(t, t->objects); /* the upper part comes first */
	while (start > 0 && start < t->objects && t->address[start] >> 22 == t->address[start - 1] >> 22)
		start++;
	for (uint32_t k = 0; k < t->objects; k++) {
		uint32_t i = (k + start) % t->objects;
		uint64_t end = t->address[i] + (t->size[i] + 7) / 8 * 8;
		heap_test_put_object(b, t, i);
		if (i + 1 < t->objects && t->address[i + 1] >= end + 24) {
			heap_builder_object(b, free_space, end, 24, NULL, 0);
			t->free_bytes += 24;
		}
	}
	heap_test_put_roots(b, t, shape);
	struct heap_snapshot *s = heap_builder_finish_take(b);
	s->facts.way = shape->unheld ? HEAP_WAY_NO_COLLECTION : HEAP_WAY_EXACT;
	return s;
}

static inline void heap_test_reach(const struct heap_test *t, uint32_t without, bool reached[HEAP_TEST_MAX])
{
	uint32_t queue[HEAP_TEST_MAX], head = 0, tail = 0;

	memset(reached, 0, HEAP_TEST_MAX);
	if (without == t->nodes - 1)
		return;
	queue[tail++] = t->nodes - 1;
	reached[t->nodes - 1] = true;
	while (head < tail)
		for (uint32_t a = queue[head++], b = 0; b < t->nodes; b++)
			if (t->holds[a][b] && !reached[b] && b != without) {
				reached[b] = true;
				queue[tail++] = b;
			}
}

/* What lasting roots reach is held by nobody else: as heap_graph_options.lasting_first has it. */
static inline void heap_test_lasting_first(struct heap_test *t, const struct heap_snapshot *s)
{
	bool lasting[HEAP_TEST_MAX], all[HEAP_TEST_MAX];
	uint32_t super = t->nodes - 1;

	memcpy(all, t->holds[super], sizeof all);
	for (uint32_t i = 0; i < t->roots; i++)
		if (s->roots[i].kind == HEAP_ROOT_STACK)
			t->holds[super][t->objects + i] = false;
	heap_test_reach(t, HEAP_NODE_NONE, lasting);
	memcpy(t->holds[super], all, sizeof all);
	for (uint32_t a = 0; a < t->nodes; a++)
		for (uint32_t b = 0; b < t->objects; b++)
			if (!lasting[a] && lasting[b])
				t->holds[a][b] = false;
}

/* Fills `reached` and `dominates`. */
static inline void heap_test_solve(struct heap_test *t)
{
	bool left[HEAP_TEST_MAX];

	heap_test_reach(t, HEAP_NODE_NONE, t->reached);
	for (uint32_t a = 0; a < t->nodes; a++) {
		heap_test_reach(t, a, left);
		for (uint32_t b = 0; b < t->nodes; b++)
			t->dominates[a][b] = t->reached[a] && t->reached[b] && (a == b || !left[b]);
	}
}

static inline uint64_t heap_test_retained(const struct heap_test *t, uint32_t node)
{
	uint64_t bytes = 0;

	for (uint32_t b = 0; b < t->objects; b++)
		bytes += t->dominates[node][b] ? t->size[b] : 0;
	return bytes;
}

/* Of all that dominate the node, that which the others dominate. */
static inline uint32_t heap_test_dominator(const struct heap_test *t, uint32_t node)
{
	uint32_t best = HEAP_NODE_NONE;

	for (uint32_t a = 0; a < t->nodes; a++)
		if (a != node && t->dominates[a][node] && (best == HEAP_NODE_NONE || t->dominates[best][a]))
			best = a;
	return best;
}

#endif
