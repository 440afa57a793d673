/* Sums by site, counted where they happen: two open-addressing tables of sites by their hash, lock-free; one is counted into, the other,
 * when the first was full, is emptied meanwhile. So what goes to the agent, and what it costs there, grows with the number of sites and not with
 * that of events. */
#ifndef DRDOTNET_SITE_TABLE_H
#define DRDOTNET_SITE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SITE_TABLE_BITS 13 /* 64 bytes each: 512 KiB a table, touched as it fills */
#define SITE_TABLE_SIZE (1u << SITE_TABLE_BITS)
#define SITE_TABLE_MAX (SITE_TABLE_SIZE / 4 * 3)

struct site_sums {
	uint64_t site, samples, size, amount;
};

struct site_slot {
	_Atomic uint64_t site; /* 0: free */
	_Atomic uint64_t samples, size, amount;
	struct site_sums told; /* own thread */
};

struct site_table {
	struct site_slot slots[2][SITE_TABLE_SIZE];
	_Atomic uint32_t count[2];
	_Atomic int current;
	bool old_is_full; /* the other table waits to be emptied */
};

/* Any thread. The slot of a site that is known already; NULL: it is not. */
struct site_slot *site_table_find(struct site_table *t, uint64_t site);
/* Enters it (another thread may have done so just now). NULL: there is no room. */
struct site_slot *site_table_enter(struct site_table *t, uint64_t site);
void site_slot_add(struct site_slot *s, uint64_t size, uint64_t amount);

/* Own thread, some times a second: what was counted since the last time, in pieces of at most `cap`: start with *at = 0, until it returns 0.
 * A thread that was held for that whole time while it counted may have its count lost or given to another site. */
size_t site_table_take(struct site_table *t, uint32_t *at, struct site_sums *out, size_t cap);
void site_table_reset(struct site_table *t);

#endif
