#include "agent/profilers/leak/memory_growth.h"

#include "common/base/index_set.h"
#include "common/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table {
	struct memory_grown *rows;
	size_t count, cap;
	struct index_set by_name;
};

static uint64_t held(const struct memory_mapping *m)
{
	return m->is.rss + m->is.swap;
}

/* Memory of these kinds is one thing wherever it lies; its pieces tell nothing. */
static const char *whole_name(const struct memory_mapping *m)
{
	switch (m->kind) {
	case MEMORY_GC:
		return "managed heap";
	case MEMORY_CODE:
		return "compiled code and stubs";
	case MEMORY_STACKS:
		return "thread stacks";
	case MEMORY_MALLOC:
		return m->name[0] ? "malloc heap" : "malloc arenas";
	default:
		return m->name[0] ? m->name : NULL;
	}
}

static struct memory_grown *row_of(struct table *t, enum memory_kind kind, const char *name)
{
	uint32_t hash = index_hash_str(INDEX_HASH_START, name), i;
	size_t at = hash;
	while ((i = index_set_next(&t->by_name, hash, &at)) != INDEX_NONE) {
		if (t->rows[i].kind == kind && strcmp(t->rows[i].name, name) == 0)
			return &t->rows[i];
	}
	GROW(t->rows, t->count, t->cap);
	index_set_add(&t->by_name, hash, (uint32_t)t->count);
	t->rows[t->count] = (struct memory_grown){.kind = kind, .name = mem_strdup(name)};
	return &t->rows[t->count++];
}

static void add_named_mappings(struct table *t, const struct memory_account *a, bool last)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct memory_mapping *m = &a->mappings[i];
		const char *name = whole_name(m);
		if (!name || m->ours)
			continue;
		struct memory_grown *g = row_of(t, m->kind, name);
		*(last ? &g->last : &g->first) += held(m);
	}
}

/* Both are in the order of addresses: the pieces of the first that overlap with one of the last stand together. */
static void add_places(struct table *t, const struct memory_account *first, const struct memory_account *last)
{
	size_t k = 0;
	uint64_t counted_to = 0; /* a piece of the first that lies in two of the last counts once */
	for (size_t i = 0; i < last->count; i++) {
		const struct memory_mapping *m = &last->mappings[i];
		uint64_t before = 0;
		if (whole_name(m) || m->ours)
			continue;
		while (k < first->count && first->mappings[k].end <= m->start)
			k++;
		for (size_t j = k; j < first->count && first->mappings[j].start < m->end; j++) {
			const struct memory_mapping *was = &first->mappings[j];
			if (whole_name(was) || was->start < counted_to)
				continue;
			before += held(was);
			counted_to = was->end;
		}
		if (held(m) <= before)
			continue;
		char name[80];
		snprintf(name, sizeof name, "anonymous memory at %" PRIx64, m->start);
		struct memory_grown *g = row_of(t, m->kind, name);
		g->first += before;
		g->last += held(m);
	}
}

static int mapping_by_growth(const void *a, const void *b)
{
	const struct memory_grown *x = a, *y = b;
	uint64_t gx = x->last - x->first, gy = y->last - y->first;
	return gx != gy ? (gx < gy ? 1 : -1) : strcmp(x->name, y->name);
}

size_t memory_growth_find(const struct memory_account *first, const struct memory_account *last, size_t max, struct memory_grown **out)
{
	struct table t = {0};
	add_named_mappings(&t, first, false);
	add_named_mappings(&t, last, true);
	add_places(&t, first, last);
	size_t kept = 0;
	for (size_t i = 0; i < t.count; i++) {
		if (t.rows[i].last > t.rows[i].first)
			t.rows[kept++] = t.rows[i];
		else
			free(t.rows[i].name);
	}
	index_set_fini(&t.by_name);
	if (kept)
		qsort(t.rows, kept, sizeof *t.rows, mapping_by_growth);
	for (size_t i = max; i < kept; i++)
		free(t.rows[i].name);
	*out = t.rows;
	return kept < max ? kept : max;
}

void memory_growth_free(struct memory_grown *g, size_t count)
{
	for (size_t i = 0; g && i < count; i++)
		free(g[i].name);
	free(g);
}
