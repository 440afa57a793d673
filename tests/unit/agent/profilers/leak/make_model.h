/* Models of heap walks by hand, for the tests of MemoryLeak. */
#ifndef TESTS_MAKE_MODEL_H
#define TESTS_MAKE_MODEL_H

#include "agent/profilers/leak/leak_model.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define MB(n) ((uint64_t)(n) * 1000000)
#define SECOND INT64_C(1000000000)

/* `walks` of them, each `seconds` after the one before, of an old process. */
static inline void make_walks(struct leak_model *m, size_t walks, int64_t seconds)
{
	leak_model_init(m);
	m->uptime_ms = 3600000;
	m->walk_count = walks;
	for (size_t i = 0; i < walks; i++)
		m->walks[i] = (struct leak_walk){.at_ns = (int64_t)i * seconds * SECOND, .exact = true, .objects = 1000, .bytes = MB(10),
						 .resident_bytes = -1, .container_bytes = -1, .unmanaged_bytes = -1};
}

/* A step with `figures` for each walk: objects, and bytes of each object; what hangs below is added by the children. */
static inline uint32_t make_step(struct leak_model *m, uint32_t parent, const char *type, const char *field, uint64_t size, const uint64_t *counts)
{
	const char *dot = strrchr(type, '.');
	uint32_t step = leak_model_step(m, parent, type, dot ? dot + 1 : type, "Shop.dll", field);
	for (size_t w = 0; w < m->walk_count; w++) {
		struct leak_figures *f = leak_model_at(m, step, w);
		f->count = counts[w];
		f->bytes = counts[w] * size;
		for (uint32_t s = step; s != LEAK_NONE; s = m->steps[s].parent)
			leak_model_at(m, s, w)->held += f->bytes;
	}
	return step;
}

#define COUNTS(...) ((const uint64_t[LEAK_MAX_WALKS]){__VA_ARGS__})

/* static Shop.Cache._items -> Dictionary -> Entry[] -> Order, so many at each walk. */
static inline uint32_t make_cache(struct leak_model *m, const uint64_t *orders)
{
	uint32_t root = leak_model_root(m, LEAK_ROOT_STATIC, "static Shop.Cache._items");
	const uint64_t *one = COUNTS(1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
	uint32_t map = make_step(m, root, "System.Collections.Generic.Dictionary<int, Order>", NULL, 80, one);
	uint32_t entries = make_step(m, map, "Entry[]", "_entries", 24000, one);
	return make_step(m, entries, "Shop.Order", "[].value", 100, orders);
}

#endif
