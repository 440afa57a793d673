/* The second reading of a snapshot's stream, by address and in two halves at once: types, sizes, and whom the objects hold. */
#include "agent/heap/heap_nodes_private.h"

#include "common/base/mem.h"
#include "common/base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct fill_pair { /* of a dependent handle: the first keeps the second one alive */
	uint32_t first, second;
};

struct fill {
	struct heap_nodes *n;
	unsigned half;
	uint32_t from, to;
	const struct fill_pair *pairs, *pairs_end; /* by first */
	uint64_t edges, lost_edges;
	struct heap_big *big;
	size_t big_count, big_cap;
	int rc;
	struct err e;
};

static int put_edge(struct fill *f, uint32_t node, uint32_t target, struct err *e)
{
	f->edges++;
	return target == node ? 0 : heap_rows_put(&f->n->rows, f->half, target, e);
}

static int fill_row(struct fill *f, struct heap_cursor *c, uint32_t node, struct err *e)
{
	uint64_t offset, address;

	if (heap_rows_begin(&f->n->rows, f->half, node, e) < 0)
		return -1;
	while (heap_cursor_edge(c, &offset, &address)) {
		uint32_t target = heap_index_find(&f->n->index, address);
		if (target == HEAP_INDEX_NONE)
			f->lost_edges++;
		else if (put_edge(f, node, target, e) < 0)
			return -1;
	}
	for (; f->pairs < f->pairs_end && f->pairs->first == node; f->pairs++)
		if (put_edge(f, node, f->pairs->second, e) < 0)
			return -1;
	heap_rows_end(&f->n->rows, f->half, node);
	return 0;
}

static void fill_word(struct fill *f, const struct heap_object_record *o, uint32_t node)
{
	uint64_t size = (o->size + 7) / 8;

	if (size >= HEAP_NODES_BIG) {
		GROW(f->big, f->big_count, f->big_cap);
		f->big[f->big_count++] = (struct heap_big){node, size * 8};
		size = HEAP_NODES_BIG;
	}
	f->n->words[node] = o->type << HEAP_NODES_SIZE_BITS | (uint32_t)size;
}

static int fill_piece(struct fill *f, const struct heap_piece *p, struct err *e)
{
	uint32_t node = p->first;
	struct heap_cursor c;

	heap_piece_cursor(f->n, p, &c);
	for (uint32_t i = 0; i < p->records && node < f->to; i++) {
		if (!heap_snapshot_object(&c))
			break;
		if (f->n->snapshot->shapes[c.object.type].flags & HEAP_TYPE_FREE)
			continue;
		if (node >= f->from) {
			fill_word(f, &c.object, node);
			if (fill_row(f, &c, node, e) < 0)
				return -1;
		}
		node++;
	}
	return c.bad ? err_set(e, ERR_PROTOCOL, 0, "the heap walk cannot be used: it is malformed") : 0;
}

static void *fill_half(void *ctx)
{
	struct fill *f = ctx;

	for (size_t i = 0; i < f->n->piece_count && f->rc == 0; i++) {
		const struct heap_piece *p = &f->n->pieces[i];
		if (p->first < f->to && p->first + p->count > f->from)
			f->rc = fill_piece(f, p, &f->e);
	}
	return NULL;
}

static int by_first(const void *a, const void *b)
{
	const struct fill_pair *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static struct fill_pair *make_pairs(const struct heap_nodes *n, size_t *count)
{
	struct fill_pair *pairs = NULL;
	size_t cap = 0;

	*count = 0;
	for (size_t i = 0; i < n->snapshot->root_count; i++) {
		const struct heap_root *r = &n->snapshot->roots[i];
		if (r->kind != HEAP_ROOT_DEPENDENT)
			continue;
		uint32_t first = heap_index_find(&n->index, r->object), second = heap_index_find(&n->index, r->second);
		if (first == HEAP_INDEX_NONE || second == HEAP_INDEX_NONE)
			continue;
		GROW(pairs, *count, cap);
		pairs[(*count)++] = (struct fill_pair){first, second};
	}
	if (pairs)
		qsort(pairs, *count, sizeof *pairs, by_first);
	return pairs;
}

static void run_both(struct fill f[2], bool one_thread)
{
	pthread_t thread;
	bool apart = !one_thread && thread_start(&thread, "heap-fill", THREAD_STACK_USUAL, fill_half, &f[1], NULL) == 0;

	fill_half(&f[0]);
	if (apart)
		pthread_join(thread, NULL);
	else
		fill_half(&f[1]);
}

static void join_big(struct heap_nodes *n, struct fill f[2])
{
	n->big_count = f[0].big_count + f[1].big_count;
	n->big = mem_realloc(f[0].big, n->big_count + 1, sizeof *n->big);
	if (f[1].big_count)
		memcpy(n->big + f[0].big_count, f[1].big, f[1].big_count * sizeof *n->big);
	free(f[1].big);
}

int heap_nodes_fill(struct heap_nodes *n, bool one_thread, struct err *e)
{
	size_t pair_count, middle = 0;
	struct fill_pair *pairs = make_pairs(n, &pair_count);
	uint32_t split = n->rows.split;

	while (middle < pair_count && pairs[middle].first < split)
		middle++;
	struct fill f[2] = {
		{.n = n, .half = 0, .from = 0, .to = split, .pairs = pairs, .pairs_end = pairs ? pairs + middle : NULL},
		{.n = n, .half = 1, .from = split, .to = n->count, .pairs = pairs ? pairs + middle : NULL,
		 .pairs_end = pairs ? pairs + pair_count : NULL},
	};
	run_both(f, one_thread || n->count < HEAP_PIECE_RECORDS);
	free(pairs);
	join_big(n, f);
	n->edges = f[0].edges + f[1].edges;
	n->lost_edges = f[0].lost_edges + f[1].lost_edges;
	for (int i = 0; i < 2; i++)
		if (f[i].rc < 0) {
			if (e)
				*e = f[i].e;
			return -1;
		}
	return 0;
}
