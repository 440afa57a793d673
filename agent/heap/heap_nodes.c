#include "agent/heap/heap_nodes_private.h"

#include "common/base/mem.h"

#include <stdlib.h>

void heap_piece_cursor(const struct heap_nodes *n, const struct heap_piece *p, struct heap_cursor *c)
{
	heap_snapshot_cursor(n->snapshot, c);
	c->at = p->at;
	c->last_end = p->last_end;
}

uint64_t heap_nodes_big_size(const struct heap_nodes *n, uint32_t node)
{
	size_t low = 0, high = n->big_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (n->big[middle].node <= node)
			low = middle + 1;
		else
			high = middle;
	}
	return low && n->big[low - 1].node == node ? n->big[low - 1].size : 0;
}

/* The object that a root holds. Those words may lie somewhere in it, or nowhere. */
static uint32_t object_of(const struct heap_nodes *n, const struct heap_root *r)
{
	if (r->kind == HEAP_ROOT_DEPENDENT || r->flags & HEAP_ROOT_WEAK)
		return HEAP_INDEX_NONE;
	uint32_t node = heap_index_find(&n->index, r->object);
	if (node != HEAP_INDEX_NONE || !(r->flags & (HEAP_ROOT_INTERIOR | HEAP_ROOT_CONSERVATIVE)))
		return node;
	node = heap_index_at_or_before(&n->index, r->object);
	if (node == HEAP_INDEX_NONE)
		return node;
	return r->object - heap_index_address(&n->index, node) < heap_nodes_size(n, node) ? node : HEAP_INDEX_NONE;
}

int heap_nodes_init(struct heap_nodes *n, const struct heap_snapshot *s, struct heap_memory *memory, bool one_thread, struct err *e)
{
	*n = (struct heap_nodes){.snapshot = s, .memory = memory};
	if (heap_index_init(&n->index, memory, e) < 0)
		return -1;
	if (heap_nodes_scan(n, e) < 0 || heap_index_finish(&n->index, e) < 0 || heap_rows_init(&n->rows, memory, n->count, e) < 0 ||
	    heap_memory_take(memory, &n->word_array, n->count, sizeof *n->words, HEAP_IN_ORDER, e) < 0) {
		heap_nodes_fini(n);
		return -1;
	}
	n->words = n->word_array.data;
	if (heap_nodes_fill(n, one_thread, e) < 0) {
		heap_nodes_fini(n);
		return -1;
	}
	n->held = mem_calloc(s->root_count + 1, sizeof *n->held);
	for (size_t i = 0; i < s->root_count; i++)
		n->held[i] = object_of(n, &s->roots[i]);
	return 0;
}

void heap_nodes_fini(struct heap_nodes *n)
{
	if (!n->memory)
		return;
	heap_rows_fini(&n->rows);
	heap_index_fini(&n->index);
	heap_memory_give(n->memory, &n->word_array);
	free(n->big);
	free(n->held);
	free(n->pieces);
	*n = (struct heap_nodes){0};
}
