/* Which types, or kinds of exceptions, were told to the agent: an open-addressing set of their hashes. Any thread, lock-free; past TOLD_SET_MAX nothing is
 * added, and what is not in the set is told again: costs time, not truth. */
#ifndef DRDOTNET_TOLD_SET_H
#define DRDOTNET_TOLD_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TOLD_SET_SIZE (1u << 12)
#define TOLD_SET_MAX (TOLD_SET_SIZE / 4 * 3)

struct told_set { /* zeroed: empty */
	_Atomic uint64_t slots[TOLD_SET_SIZE]; /* 0: free */
	_Atomic uint32_t count;
};

/* `key`: not 0. */
bool told_set_has(const struct told_set *s, uint64_t key);
void told_set_add(struct told_set *s, uint64_t key);
uint32_t told_set_count(const struct told_set *s);
/* While nobody else uses it. */
void told_set_reset(struct told_set *s);

#endif
