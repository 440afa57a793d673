/* Which mappings of a process grew between two accounts of it. Files and named memory are joined by name, the rest by place: a
 * piece of anonymous memory is the same while it overlaps. Pure; one thread. */
#ifndef DRDOTNET_MEMORY_GROWTH_H
#define DRDOTNET_MEMORY_GROWTH_H

#include "agent/profilers/leak/memory_account.h"

struct memory_grown {
	enum memory_kind kind;
	char *name;              /* "/app/data.bin", "malloc heap", "anonymous memory at 7f12..." */
	uint64_t first, last;    /* resident or swapped; bytes */
};

/* The mappings that grew, most first, at most `max`; both accounts are classified. *out is freed by memory_growth_free. */
size_t memory_growth_find(const struct memory_account *first, const struct memory_account *last, size_t max, struct memory_grown **out);
void memory_growth_free(struct memory_grown *g, size_t count);

#endif
