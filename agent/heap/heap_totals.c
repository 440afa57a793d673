#include "agent/heap/heap_totals.h"

#include "agent/heap/heap_graph_private.h"
#include "common/base/hash.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Groupings ------------------------------------------------------------------------------------------------------------------- */
struct name_group {
	const char *name;
	uint32_t group;
	UT_hash_handle hh;
};

static void group_by(struct heap_groups *groups, const struct heap_snapshot *s, const char *(*name_of)(const struct heap_type *t))
{
	struct name_group *table = NULL, *entry, *next;

	*groups = (struct heap_groups){.of_type = mem_calloc((size_t)s->type_count + 1, sizeof *groups->of_type),
				       .names = mem_calloc((size_t)s->type_count + 1, sizeof *groups->names)};
	for (uint32_t i = 0; i < s->type_count; i++) {
		const char *name = name_of(&s->types[i]);
		HASH_FIND_STR(table, name, entry);
		if (!entry) {
			entry = mem_alloc(sizeof *entry);
			entry->name = name;
			entry->group = groups->count++;
			groups->names[entry->group] = name;
			HASH_ADD_KEYPTR(hh, table, name, strlen(name), entry);
		}
		groups->of_type[i] = entry->group;
	}
	HASH_ITER(hh, table, entry, next) {
		HASH_DEL(table, entry);
		free(entry);
	}
}

static const char *space_of(const struct heap_type *t)
{
	return t->space ? t->space : "";
}

static const char *module_of(const struct heap_type *t)
{
	return t->module ? t->module : "";
}

void heap_groups_by_type(struct heap_groups *groups, const struct heap_snapshot *s)
{
	*groups = (struct heap_groups){.of_type = mem_calloc((size_t)s->type_count + 1, sizeof *groups->of_type),
				       .names = mem_calloc((size_t)s->type_count + 1, sizeof *groups->names),
				       .count = s->type_count};
	for (uint32_t i = 0; i < s->type_count; i++) {
		groups->of_type[i] = i;
		groups->names[i] = s->types[i].name ? s->types[i].name : "";
	}
}

void heap_groups_by_space(struct heap_groups *groups, const struct heap_snapshot *s)
{
	group_by(groups, s, space_of);
}

void heap_groups_by_module(struct heap_groups *groups, const struct heap_snapshot *s)
{
	group_by(groups, s, module_of);
}

void heap_groups_fini(struct heap_groups *groups)
{
	free(groups->of_type);
	free(groups->names);
	*groups = (struct heap_groups){0};
}

/* Sums ------------------------------------------------------------------------------------------------------------------------ */

/* The generation of rising addresses: the ranges are gone through once. What lies in none was allocated since: gen0. */
struct generations {
	const struct heap_range_record *at, *end;
};

static enum heap_generation generation_of(struct generations *g, uint64_t address)
{
	while (g->at < g->end && address >= g->at->start && address - g->at->start >= g->at->length)
		g->at++;
	return g->at < g->end && address >= g->at->start ? (enum heap_generation)g->at->generation : HEAP_GEN0;
}

static struct generations generations_of(const struct heap_snapshot *s)
{
	return (struct generations){s->ranges, s->range_count ? s->ranges + s->range_count : s->ranges};
}

static void add_object(const struct heap_graph *g, uint32_t node, struct heap_sum *sum)
{
	uint64_t size = heap_graph_size(g, node);
	enum heap_reach reach = heap_graph_reach(g, node);

	if (reach == HEAP_REACH_NONE) {
		sum->dead_count++;
		sum->dead_bytes += size;
		return;
	}
	sum->count++;
	sum->bytes += size;
	if (reach == HEAP_REACH_UNHELD)
		sum->unheld_bytes += size;
}

void heap_totals_prepare(struct heap_graph *g)
{
	struct generations generations = generations_of(g->snapshot);
	struct heap_index_walk walk;

	g->own->sums = mem_calloc((size_t)g->snapshot->type_count + 1, sizeof *g->own->sums);
	heap_index_walk(&g->own->nodes.index, &walk);
	for (uint32_t node = 0; node < g->objects; node++)
		add_object(g, node, &g->own->sums[heap_graph_type(g, node)][generation_of(&generations, heap_index_walk_next(&walk))]);
}

/* In preorder, an object below another one of its group comes before the end of that one's subtree. */
static void add_retained(const struct heap_graph *g, const struct heap_groups *groups, struct heap_total *out)
{
	uint32_t *end = mem_calloc((size_t)groups->count + 1, sizeof *end);

	for (uint32_t place = 0; place < g->placed; place++) {
		uint32_t type = heap_graph_type(g, g->node_at[place]);
		if (type == HEAP_NODE_NONE)
			continue;
		uint32_t group = groups->of_type[type];
		if (place < end[group])
			continue;
		out[group].retained += g->retained[place];
		end[group] = place + g->below[place] + 1;
	}
	free(end);
}

static void add_type_total(const struct heap_sum *sums, struct heap_total *t)
{
	for (int i = 0; i < HEAP_GENERATIONS; i++) {
		t->count += sums[i].count;
		t->bytes += sums[i].bytes;
		t->dead_count += sums[i].dead_count;
		t->dead_bytes += sums[i].dead_bytes;
		t->unheld_bytes += sums[i].unheld_bytes;
		t->generation_bytes[i] += sums[i].bytes;
	}
}

void heap_totals(const struct heap_graph *g, const struct heap_groups *groups, struct heap_total *out)
{
	memset(out, 0, groups->count * sizeof *out);
	for (uint32_t i = 0; i < g->snapshot->type_count; i++)
		add_type_total(g->own->sums[i], &out[groups->of_type[i]]);
	add_retained(g, groups, out);
}

static void add_to_space(const struct heap_sum *sum, bool strings, struct heap_space *s)
{
	s->count += sum->count;
	s->bytes += sum->bytes;
	s->dead_count += sum->dead_count;
	s->dead_bytes += sum->dead_bytes;
	if (strings) {
		s->strings_count += sum->count;
		s->strings_bytes += sum->bytes;
	}
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Several roots may pin one object. */
static void add_pinned(const struct heap_graph *g, struct heap_space *out)
{
	uint32_t *pinned = mem_calloc((size_t)g->root_count + 1, sizeof *pinned), count = 0;

	for (uint32_t i = 0; i < g->root_count; i++)
		if (g->snapshot->roots[i].flags & HEAP_ROOT_PINNED && g->own->nodes.held[i] != HEAP_NODE_NONE)
			pinned[count++] = g->own->nodes.held[i];
	qsort(pinned, count, sizeof *pinned, compare_u32);
	for (uint32_t i = 0; i < count; i++) {
		if (i && pinned[i] == pinned[i - 1])
			continue;
		struct heap_space *s = &out[heap_snapshot_generation(g->snapshot, heap_graph_address(g, pinned[i]))];
		s->pinned_count++;
		s->pinned_bytes += heap_graph_size(g, pinned[i]);
	}
	free(pinned);
}

void heap_space_find_free(struct heap_space *s)
{
	uint64_t used = s->bytes + s->dead_bytes;

	if (s->range_bytes > used + s->free_bytes)
		s->free_bytes = s->range_bytes - used;
}

void heap_spaces(const struct heap_graph *g, struct heap_space *out)
{
	memset(out, 0, HEAP_GENERATIONS * sizeof *out);
	for (uint32_t type = 0; type < g->snapshot->type_count; type++)
		for (int i = 0; i < HEAP_GENERATIONS; i++)
			add_to_space(&g->own->sums[type][i], g->snapshot->types[type].flags & HEAP_TYPE_STRING, &out[i]);
	for (int i = 0; i < HEAP_GENERATIONS; i++) {
		out[i].free_count = g->own->nodes.free[i].count;
		out[i].free_bytes = g->own->nodes.free[i].bytes;
		out[i].largest_free_bytes = g->own->nodes.free[i].largest;
	}
	for (size_t i = 0; i < g->snapshot->range_count; i++)
		out[g->snapshot->ranges[i].generation].range_bytes += g->snapshot->ranges[i].length;
	for (int i = 0; i < HEAP_GENERATIONS; i++)
		heap_space_find_free(&out[i]);
	add_pinned(g, out);
}
