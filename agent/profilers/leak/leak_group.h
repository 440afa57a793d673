/* Where the heap grew: of the tree of paths (leak_model.h) the places where things were added. A holder is a step under which
 * objects of a type became more (static Cache._items -> Dictionary -> Entry[], of which Order is more by 1,000), or a single object that
 * itself grew (an int[]). Holders have no byte in common: what lies below added objects is theirs. Pure; one thread. */
#ifndef DRDOTNET_LEAK_GROUP_H
#define DRDOTNET_LEAK_GROUP_H

#include "agent/profilers/leak/leak_pattern.h"
#include "agent/profilers/leak/leak_verdict.h"

struct leak_group {
	uint32_t holder;   /* a step */
	uint32_t element;  /* the step of which there is more: a child of the holder, or the holder itself */
	uint32_t payload;  /* what a person thinks of as growing: the element, or what the framework's wrappers in it hold */
	uint64_t counts[LEAK_MAX_WALKS]; /* of the payload */
	uint64_t added[LEAK_MAX_WALKS];  /* bytes of all elements with what hangs below: tells the course, as arrays grow by leaps */
	uint64_t bytes[LEAK_MAX_WALKS];  /* the same and the holder itself */
	int64_t grown_count, grown_bytes;
	double bytes_per_minute;
	uint32_t state;          /* of an async method that holds them: a step; LEAK_NONE: none does */
	bool grew_itself;        /* arrays that were made larger, not more objects */
	bool large;              /* most of what was added lies on the large object heap */
	struct leak_fit fit;     /* of what was added */
	enum leak_verdict verdict;
	enum leak_pattern pattern;
};

struct leak_groups {
	struct leak_group *items; /* those that grew by at least a quarter of the material bytes: growth first, then by bytes */
	size_t count;
	uint64_t material_bytes;
	uint64_t by_verdict[LEAK_VERDICTS]; /* bytes that were added */
};

/* Of two walks or more. */
void leak_groups_find(const struct leak_model *m, struct leak_groups *out);
void leak_groups_fini(struct leak_groups *g);

/* The first that has this verdict; NULL: none. */
const struct leak_group *leak_groups_first(const struct leak_groups *g, enum leak_verdict v);

#endif
