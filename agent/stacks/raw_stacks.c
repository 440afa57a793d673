#include "agent/stacks/raw_stacks.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

void raw_stacks_fini(struct raw_stacks *r)
{
	free(r->pool);
	free(r->stacks);
	free(r->samples);
	index_set_fini(&r->stack_set);
	*r = (struct raw_stacks){0};
}

void raw_stacks_clear(struct raw_stacks *r)
{
	r->pool_count = r->stack_count = r->sample_count = 0;
	index_set_clear(&r->stack_set);
}

static uint32_t add_raw_stack(struct raw_stacks *r, uint32_t hash, const uint32_t *chain, size_t depth, bool truncated)
{
	if (r->pool_count + depth > RAW_MAX_POOL)
		return INDEX_NONE;
	while (r->pool_count + depth > r->pool_cap) {
		r->pool_cap = r->pool_cap ? r->pool_cap * 2 : 4096;
		r->pool = mem_realloc(r->pool, r->pool_cap, sizeof *r->pool);
	}
	GROW(r->stacks, r->stack_count, r->stack_cap);
	r->stacks[r->stack_count] = (struct raw_stack){(uint32_t)r->pool_count, (uint32_t)depth, truncated};
	if (depth)
		memcpy(r->pool + r->pool_count, chain, depth * sizeof *chain);
	r->pool_count += depth;
	index_set_add(&r->stack_set, hash, (uint32_t)r->stack_count);
	return (uint32_t)r->stack_count++;
}

static uint32_t intern_stack(struct raw_stacks *r, const uint32_t *chain, size_t depth, bool truncated)
{
	uint32_t hash = index_hash(INDEX_HASH_START + truncated, chain, depth * sizeof *chain), i;
	size_t at = hash;
	while ((i = index_set_next(&r->stack_set, hash, &at)) != INDEX_NONE) {
		const struct raw_stack *s = &r->stacks[i];
		if (s->depth == depth && s->truncated == truncated &&
		    (depth == 0 || memcmp(r->pool + s->first, chain, depth * sizeof *chain) == 0))
			return i;
	}
	return add_raw_stack(r, hash, chain, depth, truncated);
}

int raw_stacks_add(struct raw_stacks *r, int64_t time_ns, uint32_t thread, const uint32_t *chain, size_t depth, bool truncated)
{
	if (r->sample_count >= RAW_MAX_SAMPLES)
		return -1;
	uint32_t stack = intern_stack(r, chain, depth, truncated);
	if (stack == INDEX_NONE)
		return -1;
	GROW(r->samples, r->sample_count, r->sample_cap);
	r->samples[r->sample_count++] = (struct raw_sample){time_ns, thread, stack};
	return 0;
}

bool raw_stacks_half_full(const struct raw_stacks *r)
{
	return r->pool_count > RAW_MAX_POOL / 2 || r->sample_count > RAW_MAX_SAMPLES / 2;
}
