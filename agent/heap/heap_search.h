/* The depth-first search of a heap's nodes from its roots (numbering as in heap_graph.h): numbers in preorder, parents, and all arcs that
 * are none of the tree, in the form that heap_dominate.h wants. Each reference is looked at once. */
#ifndef DRDOTNET_HEAP_SEARCH_H
#define DRDOTNET_HEAP_SEARCH_H

#include "agent/heap/heap_arcs.h"
#include "agent/heap/heap_nodes.h"

#define HEAP_SEARCH_NONE UINT32_MAX

struct heap_search {
	const struct heap_nodes *nodes;
	struct heap_memory *memory;
	struct heap_array number_array, node_array, parent_array, semi_array;
	uint32_t *number; /* by node; HEAP_SEARCH_NONE: not reached */
	/* by number */
	uint32_t *node, *parent;
	uint32_t *semi;   /* the least of the parent and of the sources of arcs to descendants */
	struct heap_arcs arcs;
	uint32_t count;   /* reached */
	uint32_t floor;   /* numbers below it were reached by more lasting roots: arcs to them do not count */
	struct heap_array stack_array;
	size_t stack_depth;
	struct heap_array unheld_array;
	uint32_t *unheld, unheld_count; /* the objects directly below the node behind the roots */
};

/* `unheld`: what no root reaches hangs below the node behind the roots. `lasting_first`: as in struct heap_graph_options. */
int heap_search_run(struct heap_search *s, const struct heap_nodes *n, bool unheld, bool lasting_first, struct err *e);
void heap_search_fini(struct heap_search *s);

#endif
