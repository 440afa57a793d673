/* What fills a heap and who holds it: all the figures of a GCSurvivors report, from the graph of a heap; what fills it alone, from counts by
 * type. Pure; one thread (and a
 * helper of its own while it is made). */
#ifndef DRDOTNET_SURVIVORS_H
#define DRDOTNET_SURVIVORS_H

#include "agent/heap/heap_paths.h"
#include "agent/heap/heap_totals.h"
#include "agent/profilers/survivors/survivors_tree.h"

#define SURVIVORS_MAX_TYPES 2000
#define SURVIVORS_MAX_GROUPS 500
#define SURVIVORS_MAX_HOLDERS 500
#define SURVIVORS_MAX_PATHS 100

struct survivors_group { /* of types: one type, a namespace, an assembly */
	const char *name;
	uint32_t type;   /* the first type in it */
	struct heap_total total;
};

struct survivors_groups {
	struct survivors_group *items; /* by falling retained bytes */
	uint32_t count;                /* that are listed */
	uint64_t left_out, left_out_objects, left_out_bytes;
};

struct survivors_holder {
	uint32_t node;   /* of the tree */
	const char *name;
	enum survivors_kind kind;
};

struct survivors_kind_total {
	uint64_t roots, retained;
};

struct survivors {
	const struct heap_snapshot *snapshot; /* borrowed */
	const struct heap_graph *graph;       /* of it, borrowed; NULL: types only, nothing is known of holders and retained sizes */
	uint64_t objects, bytes;        /* all; free space not counted */
	uint64_t held_objects, held_bytes;
	uint64_t unreachable_objects, unreachable_bytes; /* by no known root */
	uint64_t free_bytes, pinned_objects, pinned_bytes;
	struct heap_space spaces[HEAP_GENERATIONS];
	struct survivors_kind_total kinds[SURVIVORS_KINDS];
	struct survivors_groups types, namespaces, assemblies;
	struct survivors_tree tree;
	struct survivors_holder *holders; /* by falling retained bytes; of objects that no holder holds alone: their types */
	uint32_t holder_count;
	struct heap_paths paths;
};

/* From the counts of a snapshot of types only. */
void survivors_make_types(const struct heap_snapshot *s, struct survivors *out);

/* -1: the paths could not be found (the file of a large heap failed). *out is to be freed in any case. */
int survivors_make(const struct heap_graph *g, struct survivors *out, struct err *e);
void survivors_fini(struct survivors *s); /* takes zeroed structs */

double survivors_percent(const struct survivors *s, uint64_t bytes); /* of all objects' bytes, 0 to 100 */

#endif
