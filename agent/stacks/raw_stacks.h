/* The samples of about a second as they come: addresses and chains of them, each kept once. Bounded; one thread. */
#ifndef DRDOTNET_RAW_STACKS_H
#define DRDOTNET_RAW_STACKS_H

#include "common/base/index_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAW_MAX_POOL (1u << 20)    /* addresses in all chains */
#define RAW_MAX_SAMPLES (1u << 17)

struct raw_stack {
	uint32_t first, depth; /* in pool; leaf first */
	bool truncated;
};

struct raw_sample {
	int64_t time_ns;
	uint32_t thread, stack;
};

struct raw_stacks { /* zeroed: empty */
	uint32_t *pool; /* numbers of addresses, the caller's */
	size_t pool_count, pool_cap;
	struct raw_stack *stacks;
	size_t stack_count, stack_cap;
	struct index_set stack_set;
	struct raw_sample *samples;
	size_t sample_count, sample_cap;
};

void raw_stacks_fini(struct raw_stacks *r);
void raw_stacks_clear(struct raw_stacks *r); /* keeps the memory */

/* -1: no room. */
int raw_stacks_add(struct raw_stacks *r, int64_t time_ns, uint32_t thread, const uint32_t *chain, size_t depth, bool truncated);
bool raw_stacks_half_full(const struct raw_stacks *r);

#endif
