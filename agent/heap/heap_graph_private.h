/* Private to agent/heap: what a graph is made of. */
#ifndef DRDOTNET_HEAP_GRAPH_PRIVATE_H
#define DRDOTNET_HEAP_GRAPH_PRIVATE_H

#include "agent/heap/heap_graph.h"
#include "agent/heap/heap_merge.h"

/* Of the objects of one type in one generation. */
struct heap_sum {
	uint64_t count, bytes; /* reached */
	uint64_t dead_count, dead_bytes;
	uint64_t unheld_bytes; /* of `bytes` */
};

struct heap_graph_private {
	struct heap_memory memory;
	struct heap_nodes nodes;
	struct heap_merge merge; /* zeroed: without paths */
	struct heap_sum (*sums)[HEAP_GENERATIONS]; /* by type */
	struct heap_array place_of, node_at, below, parent, retained;
};

/* heap_totals.c: sets own->sums, once all places are known. */
void heap_totals_prepare(struct heap_graph *g);

#endif
