/* Sums over a heap graph: by type, by namespace, by assembly or by any other grouping of types; by generation; free space.
 * One or two passes over the graph; the caller's memory. */
#ifndef DRDOTNET_HEAP_TOTALS_H
#define DRDOTNET_HEAP_TOTALS_H

#include "agent/heap/heap_graph.h"

struct heap_total {
	uint64_t count, bytes;           /* objects that are reached */
	uint64_t retained;               /* with all that they dominate; each byte once, however deep the group nests in itself */
	uint64_t dead_count, dead_bytes; /* objects that are not reached */
	uint64_t unheld_bytes;           /* of `bytes`: reached by HEAP_GRAPH_UNHELD only */
	uint64_t generation_bytes[HEAP_GENERATIONS]; /* of `bytes` */
};

/* A grouping of types: the group's number for each type of the snapshot. */
struct heap_groups {
	uint32_t *of_type;  /* by type */
	const char **names; /* by group; borrowed from the snapshot; groups in the order of their first types */
	uint32_t count;
};
void heap_groups_by_type(struct heap_groups *groups, const struct heap_snapshot *s);
void heap_groups_by_space(struct heap_groups *groups, const struct heap_snapshot *s);  /* namespaces; "" is a group */
void heap_groups_by_module(struct heap_groups *groups, const struct heap_snapshot *s); /* assemblies */
void heap_groups_fini(struct heap_groups *groups);

/* Sets out[0 .. groups->count). */
void heap_totals(const struct heap_graph *g, const struct heap_groups *groups, struct heap_total *out);

struct heap_space {                    /* of one generation */
	uint64_t count, bytes;         /* objects that are reached */
	uint64_t dead_count, dead_bytes;
	uint64_t free_count, free_bytes, largest_free_bytes; /* free space between objects */
	uint64_t pinned_count, pinned_bytes;                 /* objects that roots pin */
	uint64_t range_bytes;          /* by the runtime's own ranges, 0: not known */
	uint64_t strings_count, strings_bytes;
};
/* Free space that a walk was not told of: what no object takes of the generation's size. */
void heap_space_find_free(struct heap_space *s);
/* Sets out[0 .. HEAP_GENERATIONS), with that free space too. */
void heap_spaces(const struct heap_graph *g, struct heap_space *out);

#endif
