/* Which field of the objects above a group holds its objects: found by reading the snapshot's stream, until each was seen often enough. */
#ifndef DRDOTNET_HEAP_FIELDS_H
#define DRDOTNET_HEAP_FIELDS_H

#include "agent/heap/heap_merge.h"

#define HEAP_FIELDS_ENOUGH 20000 /* references seen of a group */
#define HEAP_FIELDS_NAMES 8      /* different ones counted of a group */

struct heap_held_by { /* zeroed but for the group */
	uint32_t group;
	const char *name; /* out: of the field with most references from the group above; "" none was seen, or its name is not known */
	/* private */
	uint32_t seen;
	const char *names[HEAP_FIELDS_NAMES];
	uint32_t counts[HEAP_FIELDS_NAMES];
};

/* Groups may come twice. */
void heap_fields_find(const struct heap_merge *m, struct heap_held_by *fields, size_t count);

#endif
