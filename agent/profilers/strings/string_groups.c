#include "agent/profilers/strings/string_groups.h"

#include "common/base/mem.h"

#include <stdlib.h>

#define LEAST_SLOTS 1024

void string_groups_fini(struct string_groups *g)
{
	free(g->items);
	free(g->slots);
	*g = (struct string_groups){0};
}

/* The digest's low bits chose the filter's bit, its high ones the part: these are the ones between. */
static size_t first_slot(const struct string_groups *g, uint64_t digest, uint32_t chars)
{
	return (size_t)((digest ^ (uint64_t)chars << 20) * UINT64_C(0x9e3779b97f4a7c15) >> 24) & (g->slot_count - 1);
}

static void grow_string_slots(struct string_groups *g)
{
	free(g->slots);
	g->slot_count = g->slot_count ? g->slot_count * 2 : LEAST_SLOTS;
	g->slots = mem_calloc(g->slot_count, sizeof *g->slots);
	for (size_t i = 0; i < g->count; i++) {
		size_t at = first_slot(g, g->items[i].digest, g->items[i].chars);
		while (g->slots[at])
			at = (at + 1) & (g->slot_count - 1);
		g->slots[at] = (uint32_t)i + 1;
	}
}

uint32_t string_groups_add(struct string_groups *g, uint64_t digest, uint32_t chars, uint64_t size_bytes)
{
	if (g->count * 4 >= g->slot_count * 3)
		grow_string_slots(g);
	size_t at = first_slot(g, digest, chars);
	for (; g->slots[at]; at = (at + 1) & (g->slot_count - 1)) {
		struct string_group *have = &g->items[g->slots[at] - 1];
		if (have->digest == digest && have->chars == chars) {
			have->count++;
			return g->slots[at] - 1;
		}
	}
	GROW(g->items, g->count, g->cap);
	g->items[g->count] = (struct string_group){digest, chars, 1, (uint32_t)((size_bytes + 7) / 8), 0};
	g->slots[at] = (uint32_t)g->count + 1;
	return (uint32_t)g->count++;
}
