/* The arcs of a search that lead to nodes numbered before: written once in any order, read once by falling target. They lie in buckets of
 * 65,536 targets, each a list of chunks that are written and read in order: no access at random, and some four bytes an arc. */
#ifndef DRDOTNET_HEAP_ARCS_H
#define DRDOTNET_HEAP_ARCS_H

#include "agent/heap/heap_memory.h"
#include "common/base/leb128.h"

#define HEAP_ARCS_BUCKET_BITS 16
#define HEAP_ARCS_BUCKET (1u << HEAP_ARCS_BUCKET_BITS)
#define HEAP_ARCS_CHUNK 4096

struct heap_arcs_chunk {
	uint32_t next; /* 0: none */
	uint32_t used;
	uint8_t data[HEAP_ARCS_CHUNK - 8];
};

struct heap_arcs {
	struct heap_memory *memory;
	struct heap_array chunk_array, source_array;
	struct heap_arcs_chunk *chunks; /* [0] is none */
	struct heap_arcs_bucket {
		uint32_t first, current; /* chunks; 0: none */
		uint32_t last;           /* source of the arc before */
		uint64_t count;
	} *buckets;
	uint32_t chunk_count, bucket_count;
	uint64_t count;
	/* the bucket that is loaded: the sources of target t are sources[ends[t - 1] .. ends[t]) */
	uint32_t *sources;
	uint64_t *ends; /* [0] is 0, then one for each target of the bucket */
};

int heap_arcs_init(struct heap_arcs *a, struct heap_memory *memory, uint32_t targets, struct err *e);
void heap_arcs_fini(struct heap_arcs *a);
int heap_arcs_add_slow(struct heap_arcs *a, uint32_t bucket, struct err *e);

static inline int heap_arcs_add(struct heap_arcs *a, uint32_t source, uint32_t target, struct err *e)
{
	struct heap_arcs_bucket *b = &a->buckets[target >> HEAP_ARCS_BUCKET_BITS];

	if ((!b->current || a->chunks[b->current].used > sizeof a->chunks->data - 8) &&
	    heap_arcs_add_slow(a, target >> HEAP_ARCS_BUCKET_BITS, e) < 0)
		return -1;
	struct heap_arcs_chunk *c = &a->chunks[b->current];
	uint8_t *at = c->data + c->used;
	at[0] = (uint8_t)target;
	at[1] = (uint8_t)(target >> 8);
	c->used = (uint32_t)(leb128_put_distance(at + 2, b->last, source) - c->data);
	b->last = source;
	b->count++;
	return 0;
}

/* Sorts the arcs of one bucket by target into `sources` and `ends`. */
int heap_arcs_sort(struct heap_arcs *a, uint32_t bucket, struct err *e);

#endif
