/* Immediate dominators of a graph that was searched depth first, by the semi-NCA algorithm: L. Georgiadis, R. E. Tarjan, R. F. Werneck,
 * "Finding Dominators in Practice", 2006; semidominators and path compression as by T. Lengauer and R. E. Tarjan, "A Fast Algorithm for
 * Finding Dominators in a Flowgraph", 1979. Nodes are the numbers of the search (preorder, 0 the root).
 *
 * Time O(m log n): the last step of semi-NCA walks up the dominator tree, which on contrived graphs takes n^2 steps in all; when it has
 * taken too many it goes on with jump pointers (E. W. Myers, "An applicative random-access stack", 1983). Paths are compressed by
 * turning their pointers round, and back: no recursion, no stack. 20 bytes a node beside the arcs. */
#ifndef DRDOTNET_HEAP_DOMINATE_H
#define DRDOTNET_HEAP_DOMINATE_H

#include "agent/heap/heap_arcs.h"

struct heap_forest { /* two words of a node: what they are for changes from step to step */
	uint32_t up, least;
};

struct heap_dominate {
	uint32_t count;
	uint32_t *parent; /* in: of the search's tree; out: the immediate dominators; [0] is 0 */
	uint32_t *semi;   /* in: the least of the parent and of the sources of arcs to descendants; out: spoilt */
	struct heap_forest *forest; /* count of them, any content */
	struct heap_arcs *arcs;     /* all other arcs: from a number to a lower one */
	uint64_t steps_before_jumps; /* in the last step; 0: a good number */
	bool jumped;      /* out: for tests */
};

int heap_dominate(struct heap_dominate *d, struct err *e);

#endif
