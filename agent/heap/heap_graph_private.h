/* Private to agent/heap, and to who takes the whole tree of the ways from the roots (agent/leak): what a graph is made of. */
#ifndef DRDOTNET_HEAP_GRAPH_PRIVATE_H
#define DRDOTNET_HEAP_GRAPH_PRIVATE_H

#include "agent/heap/heap_graph.h"
#include "agent/heap/heap_merge.h"

struct heap_graph_private {
	struct heap_memory memory;
	struct heap_nodes nodes;
	struct heap_merge merge; /* zeroed: without paths */
	struct heap_array place_of, node_at, below, parent, retained;
};

#endif
