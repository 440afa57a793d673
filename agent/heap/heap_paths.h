/* How the heap is held: for each object the shortest way from the most lasting root that reaches it (statics, then thread statics,
 * handles, finalizer queue, stacks, then what no known root reaches), ways of the same types merged into one tree:
 *
 *	static Shop.Cache._items -> Dictionary<int, Order> ._entries -> Entry[] [].value -> Order x 1,000,000: 412 MB
 *
 * Each byte belongs to exactly one step of the tree, so that what hangs below a step is a share of all that is reached. Where a type
 * holds itself (lists, trees) its objects are one step. The fields are found by reading the snapshot's stream once more. */
#ifndef DRDOTNET_HEAP_PATHS_H
#define DRDOTNET_HEAP_PATHS_H

#include "agent/heap/heap_graph.h"

#define HEAP_PATH_MAX_STEPS 24

struct heap_step {
	uint32_t type;     /* of the objects */
	const char *field; /* of the step before that holds (most of) them: "_entries", "[].value"; "(ConditionalWeakTable)"; "" not known. Borrowed
			    * from the snapshot. */
	bool nested;       /* the type also holds itself here: a list, a tree */
	uint64_t count, bytes; /* the step's own objects */
	uint64_t held;     /* bytes: theirs and of all that hangs below */
	uint32_t sample;   /* one of the objects (a node) */
};

struct heap_path {
	enum heap_root_kind kind; /* 0: no known root ("held by a handle, or garbage") */
	const char *label;        /* of the root; roots of the same label are one */
	uint64_t roots;           /* how many those are */
	uint64_t root_held;       /* bytes below them */
	struct heap_step steps[HEAP_PATH_MAX_STEPS];
	size_t step_count;
	bool cut;                 /* the way goes on above its last step: steps in the middle are left out */
	uint64_t held;            /* of the last step: what this path explains */
};

struct heap_paths {
	struct heap_path *paths; /* by falling `held` */
	size_t count;
	uint64_t reached_bytes; /* held by all roots together */
};

/* The strongest paths, each with at least least_bytes, at most max of them: those that branch off early come first when there are
 * more. No path is a part of another one. -1: the graph was made without paths. */
int heap_paths_find(const struct heap_graph *g, uint64_t least_bytes, size_t max, struct heap_paths *out, struct err *e);
void heap_paths_fini(struct heap_paths *p);

#endif
