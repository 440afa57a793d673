/* The objects of a snapshot as numbered nodes: two readings of its stream. The first finds where objects begin, the second what they are
 * and whom they hold. Read-only once made. */
#ifndef DRDOTNET_HEAP_NODES_H
#define DRDOTNET_HEAP_NODES_H

#include "agent/heap/heap_index.h"
#include "agent/heap/heap_rows.h"
#include "agent/heap/heap_snapshot.h"

#define HEAP_NODES_SIZE_BITS 12 /* of an object's word: its size in eights; the other 20 are its type (HEAP_TYPES_MAX) */
#define HEAP_NODES_BIG ((1u << HEAP_NODES_SIZE_BITS) - 1) /* the size is in the list of big ones */

struct heap_piece { /* of the stream: objects that follow each other upwards */
	uint64_t start, end;  /* addresses */
	const uint8_t *at;    /* in the stream, and the cursor's last_end there */
	uint64_t last_end;
	uint32_t records;     /* objects in the stream, free space included */
	uint32_t first, count; /* nodes */
};

struct heap_big {
	uint32_t node;
	uint64_t size;
};

struct heap_free {
	uint64_t count, bytes, largest;
};

struct heap_nodes {
	const struct heap_snapshot *snapshot;
	struct heap_memory *memory;
	uint32_t count;
	uint64_t edges, lost_edges;
	struct heap_index index;
	struct heap_rows rows;
	struct heap_array word_array;
	uint32_t *words;      /* type << HEAP_NODES_SIZE_BITS | size */
	struct heap_big *big; /* by node */
	size_t big_count;
	uint32_t *held;       /* by root: the object that it holds; HEAP_INDEX_NONE: none */
	struct heap_piece *pieces; /* by address */
	size_t piece_count;
	struct heap_free free[HEAP_GENERATIONS];
};

/* -1: see heap_graph_new(). */
int heap_nodes_init(struct heap_nodes *n, const struct heap_snapshot *s, struct heap_memory *memory, bool one_thread, struct err *e);
void heap_nodes_fini(struct heap_nodes *n);

static inline uint32_t heap_nodes_type(const struct heap_nodes *n, uint32_t node)
{
	return n->words[node] >> HEAP_NODES_SIZE_BITS;
}

uint64_t heap_nodes_big_size(const struct heap_nodes *n, uint32_t node);

static inline uint64_t heap_nodes_size(const struct heap_nodes *n, uint32_t node)
{
	uint32_t size = n->words[node] & HEAP_NODES_BIG;

	return size != HEAP_NODES_BIG ? (uint64_t)size * 8 : heap_nodes_big_size(n, node);
}

/* A cursor before the piece's first object. */
void heap_piece_cursor(const struct heap_nodes *n, const struct heap_piece *p, struct heap_cursor *c);

#endif
