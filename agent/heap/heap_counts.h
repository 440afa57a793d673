/* A heap by type and generation, without its objects: what a types-only walk brings, or what is kept of a whole walk whose graph finds no
 * room. It belongs to a snapshot (heap_snapshot.counts). Pure; one thread. */
#ifndef DRDOTNET_HEAP_COUNTS_H
#define DRDOTNET_HEAP_COUNTS_H

#include "agent/heap/heap_totals.h"
#include "common/base/buf.h"

struct heap_count {
	uint64_t objects, bytes;
};

struct heap_counts {
	struct heap_count (*of)[HEAP_GENERATIONS]; /* by type */
	uint32_t type_count;
	struct heap_count free[HEAP_GENERATIONS];  /* free space, where a walk tells of it */
	uint64_t largest_free[HEAP_GENERATIONS];
};

/* Room for a type more; counts of 0. */
void heap_counts_add_type(struct heap_counts *c);
void heap_counts_free(struct heap_counts *c); /* takes NULL */

/* What a whole walk's objects come to: read once, in order. The snapshot has counts from then on, its objects and roots are forgotten. */
void heap_counts_take(struct heap_snapshot *s);

/* As heap_totals() and heap_spaces() of a graph, of the snapshot's counts: nothing is known of who holds what, all counts as reached. */
void heap_counts_totals(const struct heap_snapshot *s, const struct heap_groups *groups, struct heap_total *out);
void heap_counts_spaces(const struct heap_snapshot *s, struct heap_space *out);

/* "What retains them is unknown: objects were only counted by type (why): holders need pauseBudgetMilliseconds: 1126", without the end. */
void heap_counts_put_needs(const struct heap_needs *n, const char *why, struct buf *line);

#endif
