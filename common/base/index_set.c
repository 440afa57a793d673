#include "common/base/index_set.h"

#include "common/base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static uint32_t hash_start;
static pthread_once_t hash_start_once = PTHREAD_ONCE_INIT;

static void choose_hash_start(void)
{
	if (getrandom(&hash_start, sizeof hash_start, 0) != (ssize_t)sizeof hash_start)
		hash_start = 2166136261u; /* as the algorithm's inventors say */
}

uint32_t index_hash_start(void)
{
	pthread_once(&hash_start_once, choose_hash_start);
	return hash_start;
}

/* The last step mixes high bits into the low ones that choose the slot, so that the seed matters for each. */
uint32_t index_hash(uint32_t h, const void *data, size_t len)
{
	const uint8_t *p = data;
	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 16777619u;
	return h ^ h >> 15;
}

uint32_t index_hash_str(uint32_t h, const char *s)
{
	return s ? index_hash(h, s, strlen(s) + 1) : h * 16777619u + 1;
}

static void place_index(struct index_set *s, uint32_t hash, uint32_t index)
{
	size_t at = hash & (s->cap - 1);
	while (s->slots[at] != INDEX_NONE)
		at = (at + 1) & (s->cap - 1);
	s->slots[at] = index;
	s->hashes[at] = hash;
}

static void grow_index_set(struct index_set *s)
{
	struct index_set old = *s;
	s->cap = old.cap ? old.cap * 2 : 64;
	s->slots = mem_calloc(s->cap, sizeof *s->slots);
	s->hashes = mem_calloc(s->cap, sizeof *s->hashes);
	memset(s->slots, 0xff, s->cap * sizeof *s->slots);
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i] != INDEX_NONE)
			place_index(s, old.hashes[i], old.slots[i]);
	free(old.slots);
	free(old.hashes);
}

void index_set_add(struct index_set *s, uint32_t hash, uint32_t index)
{
	if (s->count * 4 >= s->cap * 3)
		grow_index_set(s);
	place_index(s, hash, index);
	s->count++;
}

uint32_t index_set_next(const struct index_set *s, uint32_t hash, size_t *at)
{
	if (!s->cap)
		return INDEX_NONE;
	for (*at &= s->cap - 1; s->slots[*at] != INDEX_NONE; *at = (*at + 1) & (s->cap - 1)) {
		if (s->hashes[*at] == hash) {
			uint32_t found = s->slots[*at];
			*at = (*at + 1) & (s->cap - 1);
			return found;
		}
	}
	return INDEX_NONE;
}

void index_set_clear(struct index_set *s)
{
	if (s->cap)
		memset(s->slots, 0xff, s->cap * sizeof *s->slots);
	s->count = 0;
}

void index_set_fini(struct index_set *s)
{
	free(s->slots);
	free(s->hashes);
	*s = (struct index_set){0};
}
