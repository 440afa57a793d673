/* Context: CLR callback (all but reset). */
#include "profiler/allocs/told_set.h"

#include <stddef.h>

/* The slot that holds the key or, free, could: the set is never full. */
static size_t told_slot(const struct told_set *s, uint64_t key)
{
	size_t at = key & (TOLD_SET_SIZE - 1);

	for (size_t i = 0; i < TOLD_SET_SIZE; i++, at = (at + 1) & (TOLD_SET_SIZE - 1)) {
		uint64_t there = atomic_load_explicit(&s->slots[at], memory_order_relaxed);
		if (there == key || there == 0)
			break;
	}
	return at;
}

bool told_set_has(const struct told_set *s, uint64_t key)
{
	return atomic_load_explicit(&s->slots[told_slot(s, key)], memory_order_relaxed) == key;
}

void told_set_add(struct told_set *s, uint64_t key)
{
	uint64_t none = 0;

	if (atomic_load(&s->count) < TOLD_SET_MAX && atomic_compare_exchange_strong(&s->slots[told_slot(s, key)], &none, key))
		atomic_fetch_add(&s->count, 1);
}

uint32_t told_set_count(const struct told_set *s)
{
	return atomic_load_explicit(&s->count, memory_order_relaxed);
}

void told_set_reset(struct told_set *s)
{
	for (uint32_t i = 0; i < TOLD_SET_SIZE; i++)
		if (atomic_load_explicit(&s->slots[i], memory_order_relaxed))
			atomic_store_explicit(&s->slots[i], 0, memory_order_relaxed);
	atomic_store(&s->count, 0);
}
