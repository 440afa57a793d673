/* The shortest way from the roots to each object, ways of the same types merged: a tree of groups. Below the top stand the roots by what
 * they are called; below those their objects by type; and so on. Roots that last go first: what a static reaches belongs to it, whoever
 * else does; a timer of .NET belongs to the runtime's list of timers, whoever else keeps it. Where a type is met again a few steps below
 * itself (a list, a tree), the object belongs to the group above: the tree stays small however deep the heap is. */
#ifndef DRDOTNET_HEAP_MERGE_H
#define DRDOTNET_HEAP_MERGE_H

#include "agent/heap/heap_nodes.h"

#define HEAP_GROUP_NONE UINT32_MAX
#define HEAP_MERGE_MAX_GROUPS (1u << 19) /* then objects belong to the group that holds them */
#define HEAP_MERGE_LOOK_BACK 8

struct heap_group {
	uint32_t parent;  /* group; it has a lower number. Of the top: HEAP_GROUP_NONE */
	uint32_t type;    /* of roots: the snapshot's first root of that label; the node behind the roots: their count */
	uint32_t depth;   /* 0 the top, 1 roots, 2 their objects ... */
	uint32_t sample;  /* one of its objects; of roots HEAP_GROUP_NONE */
	uint64_t count;   /* objects; of roots: roots */
	uint64_t bytes;   /* its own */
	uint64_t held;    /* with all groups below */
	bool nested;
};

struct heap_kept {
	uint32_t object, parent;
};

struct heap_merge {
	const struct heap_nodes *nodes;
	struct heap_memory *memory;
	struct heap_array group_array, queue_array;
	uint32_t *group;  /* by object; HEAP_GROUP_NONE: not reached */
	struct heap_group *groups;
	uint32_t count, cap;
	uint32_t *slots, slot_bits;
	uint32_t *queue, queue_count;
	uint32_t last_parent, last_type, last_group; /* what was looked up last */
	uint32_t timer_type, timer_queue_type; /* HEAP_GROUP_NONE: there are none */
	struct heap_kept *kept; /* timers that were met outside of the runtime's lists, and by which group */
	uint32_t kept_count, kept_cap;
	bool listed;            /* what the lists hold has been reached */
};

/* What the roots reach. */
int heap_merge_run(struct heap_merge *m, const struct heap_nodes *n, struct err *e);
/* Once after it: what the objects below the node behind the roots reach, and the sums. The nodes' rows are not needed any more. */
void heap_merge_finish(struct heap_merge *m, const uint32_t *unheld, uint32_t unheld_count);
void heap_merge_fini(struct heap_merge *m);

#endif
