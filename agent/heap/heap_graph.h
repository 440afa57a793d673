/* The graph of a heap snapshot: its objects in the order of their addresses, who dominates whom, and what each retains. Object A
 * dominates B when every way from the roots to B leads through A: B would be free when A were, and A's retained size is that of all
 * which it dominates, itself included. Made once, then read-only: any number of readers.
 *
 *	struct heap_graph *g = heap_graph_new(snapshot, NULL, &e);
 *	for (uint32_t place = 0; place < g->placed; place++)    the dominator tree in preorder, the super-root first
 *		g->node_at[place], g->retained[place]           its subtree is [place, place + below[place]]; its children are
 *		                                                place + 1, then the place behind that one's subtree, and so on
 *	uint32_t node = heap_graph_node(g, address);
 *	heap_graph_retained(g, node);
 *
 * Nodes are numbers: [0, objects) the objects by address; [objects, objects + root_count) the snapshot's roots in its order, each
 * above the object that it holds; then HEAP_GRAPH_UNHELD(g), which holds what no known root does; then the super-root, above all
 * roots. Weak roots hold nothing; of a dependent handle the first object holds the second one. Roots may hold the same object: it
 * is retained by none of them then, but by what dominates them all: the super-root.
 *
 * An object that no root reaches is dead, unless the snapshot knows only some roots (HEAP_WAY_NO_COLLECTION): then HEAP_GRAPH_UNHELD
 * reaches it ("held by a handle, or garbage"). Free space is no object of the graph: heap_totals.h counts it.
 *
 * Sizes are what objects take on the heap: rounded up to 8 bytes. Deep heaps (a list of a million) are no matter: nothing recurses. */
#ifndef DRDOTNET_HEAP_GRAPH_H
#define DRDOTNET_HEAP_GRAPH_H

#include "agent/heap/heap_snapshot.h"

struct heap_merge;

#define HEAP_NODE_NONE UINT32_MAX
#define HEAP_GRAPH_MEMORY ((size_t)360 << 20)

struct heap_graph_options {
	size_t memory_bytes; /* what does not fit goes to an unlinked file; 0: what the agent's group has left, HEAP_GRAPH_MEMORY without a limit */
	int dirfd;           /* the folder of that file; -1: a temporary one */
	bool one_thread;
	bool no_paths;       /* nobody will ask heap_paths.h */
	/* What statics, thread statics or handles reach is held by those alone: what stacks, the finalizer queue and unknown roots refer to
	 * for the moment takes nothing from them. False: all roots count alike. */
	bool lasting_first;
};

struct heap_graph {
	const struct heap_snapshot *snapshot; /* borrowed: it outlives the graph */
	uint32_t objects, root_count, nodes;  /* nodes: all of them */
	uint32_t placed;                      /* nodes that are reached */
	uint64_t edges;                       /* between objects of the graph */
	uint64_t lost_edges;                  /* references that led to no object of the snapshot: 0 in a sound one */
	uint64_t dead_bytes;                  /* of the objects that are not reached */
	uint64_t spilled_bytes;               /* of memory that went to a file */
	/* the dominator tree in preorder, the super-root first; by place: */
	uint32_t *node_at;
	uint32_t *below;    /* nodes that it dominates, itself not included */
	uint32_t *parent;   /* place of its dominator; of the super-root: 0 */
	uint64_t *retained; /* bytes; [0]: all that is reached */
	/* by node: */
	uint32_t *place_of; /* HEAP_NODE_NONE: not reached */
	struct heap_graph_private *own;
};

/* NULL: the snapshot cannot be a heap (objects that overlap: ERR_PROTOCOL), it has too many objects (ERR_INVALID), or the file for what
 * does not fit into memory failed (by errno). */
struct heap_graph *heap_graph_new(const struct heap_snapshot *s, const struct heap_graph_options *o, struct err *e);
void heap_graph_free(struct heap_graph *g); /* takes NULL */

#define HEAP_GRAPH_ROOT(g, i) ((g)->objects + (uint32_t)(i))
#define HEAP_GRAPH_UNHELD(g) ((g)->objects + (g)->root_count)
#define HEAP_GRAPH_SUPER(g) (HEAP_GRAPH_UNHELD(g) + 1)

/* The object that begins at this address, or (heap_graph_holding) which it lies in. HEAP_NODE_NONE: none. */
uint32_t heap_graph_node(const struct heap_graph *g, uint64_t address);
uint32_t heap_graph_holding(const struct heap_graph *g, uint64_t address);

/* Of an object; of other nodes 0 and HEAP_NODE_NONE. */
uint64_t heap_graph_address(const struct heap_graph *g, uint32_t node);
uint32_t heap_graph_type(const struct heap_graph *g, uint32_t node); /* index of snapshot->types */
uint64_t heap_graph_size(const struct heap_graph *g, uint32_t node);

enum heap_reach {
	HEAP_REACH_NONE,   /* dead */
	HEAP_REACH_ROOT,   /* by a root */
	HEAP_REACH_UNHELD, /* only by HEAP_GRAPH_UNHELD */
};
enum heap_reach heap_graph_reach(const struct heap_graph *g, uint32_t node);

/* The node's dominator (a node) and what it retains: itself and all that it dominates. A dead object retains itself and has no
 * dominator (HEAP_NODE_NONE); nor has the super-root. */
uint32_t heap_graph_dominator(const struct heap_graph *g, uint32_t node);
uint64_t heap_graph_retained(const struct heap_graph *g, uint32_t node);

/* The tree of the paths from the roots, merged by type; borrowed. Its `groups` is NULL where the graph was made without paths. */
const struct heap_merge *heap_graph_merge(const struct heap_graph *g);

#endif
