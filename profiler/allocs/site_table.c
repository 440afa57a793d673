/* Context: CLR callback (find, enter, add) and own thread (take, reset). */
#include "profiler/allocs/site_table.h"

#include "common/proto/difference.h"

#include <string.h>

static struct site_slot *find_site_slot(struct site_slot *slots, uint64_t site)
{
	for (uint32_t i = (uint32_t)(site >> (64 - SITE_TABLE_BITS));; i++) {
		struct site_slot *s = &slots[i & (SITE_TABLE_SIZE - 1)];
		uint64_t there = atomic_load_explicit(&s->site, memory_order_relaxed);
		if (there == site || there == 0)
			return s; /* there are always free ones */
	}
}

struct site_slot *site_table_find(struct site_table *t, uint64_t site)
{
	struct site_slot *s = find_site_slot(t->slots[atomic_load_explicit(&t->current, memory_order_relaxed)], site);

	return atomic_load_explicit(&s->site, memory_order_relaxed) == site ? s : NULL;
}

struct site_slot *site_table_enter(struct site_table *t, uint64_t site)
{
	int current = atomic_load(&t->current);

	if (atomic_fetch_add(&t->count[current], 1) >= SITE_TABLE_MAX) {
		atomic_fetch_sub(&t->count[current], 1);
		return NULL;
	}
	for (;;) {
		struct site_slot *s = find_site_slot(t->slots[current], site);
		uint64_t none = 0;
		if (atomic_compare_exchange_strong(&s->site, &none, site))
			return s;
		if (none == site) {
			atomic_fetch_sub(&t->count[current], 1);
			return s;
		}
	}
}

/* The number of samples is the last: whoever sees it sees the rest of each of them. */
void site_slot_add(struct site_slot *s, uint64_t size, uint64_t amount)
{
	atomic_fetch_add_explicit(&s->size, size, memory_order_relaxed);
	if (amount)
		atomic_fetch_add_explicit(&s->amount, amount, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->samples, 1, memory_order_release);
}

/* The three sums are not of one moment: the size of a sample that is in between may come before it. */
static bool take_site_sums(struct site_slot *s, struct site_sums *out)
{
	struct site_sums now = {
		.site = atomic_load_explicit(&s->site, memory_order_relaxed),
		.samples = atomic_load_explicit(&s->samples, memory_order_acquire),
		.size = atomic_load_explicit(&s->size, memory_order_relaxed),
		.amount = atomic_load_explicit(&s->amount, memory_order_relaxed),
	};

	if (!now.site || now.samples == s->told.samples)
		return false;
	*out = (struct site_sums){now.site, difference(now.samples, s->told.samples), difference(now.size, s->told.size),
				  difference(now.amount, s->told.amount)};
	s->told = now;
	return true;
}

static void clear(struct site_table *t, int which)
{
	if (atomic_load(&t->count[which]))
		memset(t->slots[which], 0, sizeof t->slots[which]);
	atomic_store(&t->count[which], 0);
}

/* At the end of a round: a table that is nearly full gives way to the other one, which was emptied. */
static void switch_table(struct site_table *t)
{
	int current = atomic_load(&t->current);

	if (t->old_is_full)
		clear(t, !current);
	t->old_is_full = false;
	if (atomic_load(&t->count[current]) < SITE_TABLE_MAX / 2)
		return;
	atomic_store(&t->current, !current);
	t->old_is_full = true;
}

size_t site_table_take(struct site_table *t, uint32_t *at, struct site_sums *out, size_t cap)
{
	size_t count = 0;

	for (; *at < 2 * SITE_TABLE_SIZE && count < cap; ++*at) {
		int which = (int)(*at / SITE_TABLE_SIZE);
		if (!atomic_load_explicit(&t->count[which], memory_order_relaxed))
			*at |= SITE_TABLE_SIZE - 1;
		else if (take_site_sums(&t->slots[which][*at % SITE_TABLE_SIZE], &out[count]))
			count++;
	}
	if (count == 0)
		switch_table(t);
	return count;
}

void site_table_reset(struct site_table *t)
{
	clear(t, 0);
	clear(t, 1);
	atomic_store(&t->current, 0);
	t->old_is_full = false;
}
