#include "agent/profilers/strings/string_loose.h"

#include "common/base/mem.h"

#include <stdlib.h>

#define BITS_PER_OBJECT 8
#define LEAST_BITS (UINT64_C(1) << 20)
#define MOST_BITS (UINT64_C(1) << 30) /* 128 MiB */
#define HELD_MAX (1u << 20)

static uint64_t bit_of(const struct string_loose *l, uint64_t address)
{
	uint64_t hash = address / 8 * UINT64_C(0x9e3779b97f4a7c15);
	return (hash ^ hash >> 32) & l->mask;
}

void string_loose_init(struct string_loose *l, const struct heap_snapshot *s)
{
	uint64_t bits = LEAST_BITS;
	while (bits < MOST_BITS && bits / BITS_PER_OBJECT < s->facts.objects)
		bits *= 2;
	*l = (struct string_loose){.mask = bits - 1};
	l->referenced = mem_calloc(bits / 64, sizeof *l->referenced);
	for (size_t i = 0; i < s->root_count; i++)
		string_loose_reference(l, s->roots[i].object);
}

void string_loose_fini(struct string_loose *l)
{
	free(l->referenced);
	free(l->held);
	*l = (struct string_loose){0};
}

void string_loose_reference(struct string_loose *l, uint64_t target)
{
	uint64_t bit = bit_of(l, target);
	l->referenced[bit / 64] |= UINT64_C(1) << (bit & 63);
}

bool string_loose_is(const struct string_loose *l, uint64_t object)
{
	uint64_t bit = bit_of(l, object);
	return !(l->referenced[bit / 64] >> (bit & 63) & 1);
}

bool string_loose_defer(struct string_loose *l, const struct string_held *h)
{
	if (l->count == HELD_MAX)
		return false;
	GROW(l->held, l->count, l->cap);
	l->held[l->count++] = *h;
	return true;
}
