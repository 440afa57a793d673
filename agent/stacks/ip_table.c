#include "agent/stacks/ip_table.h"

#include "common/base/mem.h"

#include <stdlib.h>

void ip_table_fini(struct ip_table *t)
{
	free(t->items);
	index_set_fini(&t->set);
	*t = (struct ip_table){0};
}

void ip_table_clear(struct ip_table *t)
{
	t->count = 0;
	index_set_clear(&t->set);
}

uint32_t ip_table_intern(struct ip_table *t, uint64_t ip, uint32_t batch)
{
	uint32_t hash = index_hash(INDEX_HASH_START, &ip, sizeof ip), i;
	size_t at = hash;
	while ((i = index_set_next(&t->set, hash, &at)) != INDEX_NONE) {
		if (t->items[i].ip == ip) {
			t->items[i].batch = batch;
			return i;
		}
	}
	if (t->count >= IP_TABLE_MAX)
		return INDEX_NONE;
	GROW(t->items, t->count, t->cap);
	t->items[t->count] = (struct ip_entry){.ip = ip, .batch = batch};
	index_set_add(&t->set, hash, (uint32_t)t->count);
	return (uint32_t)t->count++;
}
