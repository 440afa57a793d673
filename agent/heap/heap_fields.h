/* Which field of one group's objects holds those of a group right below: found by reading the snapshot's stream, until each pair was seen
 * often enough. */
#ifndef DRDOTNET_HEAP_FIELDS_H
#define DRDOTNET_HEAP_FIELDS_H

#include "agent/heap/heap_merge.h"

#define HEAP_FIELDS_ENOUGH 20000 /* references seen of a pair */
#define HEAP_FIELDS_NAMES 8      /* different ones counted of a pair */
#define HEAP_FIELDS_DEPENDENT "(ConditionalWeakTable)" /* no field: a dependent handle ties it to its holder */

struct heap_field_pair {       /* zeroed but for the groups */
	uint32_t holder, held; /* groups; the holder is the parent of the other one */
	const char *name;      /* out: of the field with most references; "" none was seen, or its name is not known */
	/* private */
	uint32_t seen;
	const char *names[HEAP_FIELDS_NAMES];
	uint32_t counts[HEAP_FIELDS_NAMES];
};

/* Pairs may come twice. */
void heap_fields_find(const struct heap_merge *m, struct heap_field_pair *pairs, size_t count);

#endif
