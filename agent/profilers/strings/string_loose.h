/* What an object would hold that nothing refers to: mostly garbage that no collection has taken yet, as the array of string.Split. Whoever else refers to
 * a string comes before it. Bounded; one thread. */
#ifndef DRDOTNET_STRING_LOOSE_H
#define DRDOTNET_STRING_LOOSE_H

#include "agent/heap/heap_snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct string_held {
	size_t string;   /* of the part's list */
	uint32_t type;   /* of the owner */
	uint64_t owner, offset;
};

struct string_loose {
	uint64_t *referenced; /* bits, by a hash of the address: never says of a referenced object that it is loose */
	uint64_t mask;
	struct string_held *held;
	size_t count, cap;
};

/* Room for that many objects; the snapshot's roots count as references. */
void string_loose_init(struct string_loose *l, const struct heap_snapshot *s);
void string_loose_fini(struct string_loose *l);
void string_loose_reference(struct string_loose *l, uint64_t target);
bool string_loose_is(const struct string_loose *l, uint64_t object);
/* False: there is no room. */
bool string_loose_defer(struct string_loose *l, const struct string_held *h);

#endif
