/* Which single objects hold most: the top of the dominator tree. */
#ifndef DRDOTNET_HEAP_DOMINATORS_H
#define DRDOTNET_HEAP_DOMINATORS_H

#include "agent/heap/heap_graph.h"

/* A holder and where its bytes come together (as Eclipse MAT's leak suspects have it): from `node` on, each object passes nearly all
 * that it retains on to one object, down to `gathered`, below which it fans out: "Cache holds 412 MB, gathered in one Entry[]". */
struct heap_holder {
	uint32_t node;     /* an object, directly below a root, the super-root or a holder that fans out */
	uint32_t root;     /* the root (a node) that alone holds it; HEAP_NODE_NONE: several do, or another holder */
	uint32_t above;    /* index of the holder in this list that it lies below; HEAP_NODE_NONE: none */
	uint32_t gathered; /* an object, perhaps `node` itself */
	uint64_t retained, gathered_retained;
	uint64_t count;    /* objects retained, itself included */
	uint32_t part_type;     /* the type of which most bytes are that `gathered` directly dominates; HEAP_NODE_NONE: it dominates none */
	uint64_t part_count, part_bytes; /* how many of them, and what they retain */
};

/* The holders that retain at least least_bytes, at most max of them, by falling size; returns how many. */
size_t heap_dominators_top(const struct heap_graph *g, uint64_t least_bytes, struct heap_holder *out, size_t max);

#endif
