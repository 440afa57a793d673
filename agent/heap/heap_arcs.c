#include "agent/heap/heap_arcs.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

int heap_arcs_init(struct heap_arcs *a, struct heap_memory *memory, uint32_t targets, struct err *e)
{
	*a = (struct heap_arcs){.memory = memory, .chunk_count = 1, .bucket_count = (targets >> HEAP_ARCS_BUCKET_BITS) + 1};
	if (heap_memory_take(memory, &a->chunk_array, a->bucket_count + 1, sizeof *a->chunks, HEAP_IN_ORDER, e) < 0 ||
	    heap_memory_take(memory, &a->source_array, HEAP_ARCS_BUCKET, sizeof *a->sources, HEAP_AT_RANDOM, e) < 0) {
		heap_arcs_fini(a);
		return -1;
	}
	a->chunks = a->chunk_array.data;
	a->sources = a->source_array.data;
	a->buckets = mem_calloc(a->bucket_count, sizeof *a->buckets);
	a->ends = mem_calloc(HEAP_ARCS_BUCKET + 1, sizeof *a->ends);
	return 0;
}

void heap_arcs_fini(struct heap_arcs *a)
{
	if (!a->memory)
		return;
	heap_memory_give(a->memory, &a->chunk_array);
	heap_memory_give(a->memory, &a->source_array);
	free(a->buckets);
	free(a->ends);
	*a = (struct heap_arcs){0};
}

int heap_arcs_add_slow(struct heap_arcs *a, uint32_t bucket, struct err *e)
{
	struct heap_arcs_bucket *b = &a->buckets[bucket];
	size_t need = ((size_t)a->chunk_count + 1) * sizeof *a->chunks;

	if (need > a->chunk_array.bytes && heap_memory_grow(a->memory, &a->chunk_array, need + need / 4, e) < 0)
		return -1;
	a->chunks = a->chunk_array.data;
	uint32_t chunk = a->chunk_count++;
	if (b->current)
		a->chunks[b->current].next = chunk;
	else
		b->first = chunk;
	b->current = chunk;
	return 0;
}

struct reader {
	const struct heap_arcs *a;
	const uint8_t *at, *end;
	uint32_t next; /* chunk */
	uint32_t source;
};

static bool read_arc(struct reader *r, uint32_t *target)
{
	if (r->at == r->end) {
		if (!r->next)
			return false;
		const struct heap_arcs_chunk *c = &r->a->chunks[r->next];
		r->at = c->data;
		r->end = c->data + c->used;
		r->next = c->next;
	}
	*target = (uint32_t)r->at[0] | (uint32_t)r->at[1] << 8;
	r->at += 2;
	r->source = leb128_get_distance(&r->at, r->source);
	return true;
}

int heap_arcs_sort(struct heap_arcs *a, uint32_t bucket, struct err *e)
{
	const struct heap_arcs_bucket *b = &a->buckets[bucket];
	struct reader counting = {.a = a, .next = b->first}, placing = counting;
	uint32_t target;

	memset(a->ends, 0, (HEAP_ARCS_BUCKET + 1) * sizeof *a->ends);
	if (heap_memory_grow(a->memory, &a->source_array, b->count * sizeof *a->sources, e) < 0)
		return -1;
	a->sources = a->source_array.data;
	while (read_arc(&counting, &target))
		if (target + 2 <= HEAP_ARCS_BUCKET)
			a->ends[target + 2]++; /* where the target's own sources begin, once summed */
	for (size_t i = 2; i <= HEAP_ARCS_BUCKET; i++)
		a->ends[i] += a->ends[i - 1];
	while (read_arc(&placing, &target))
		a->sources[a->ends[target + 1]++] = placing.source;
	return 0;
}
