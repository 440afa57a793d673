#include "agent/profilers/leak/leak_take.h"

#include "agent/heap/heap_counts.h"
#include "agent/heap/heap_fields.h"
#include "agent/heap/heap_graph.h"
#include "agent/heap/heap_merge.h"
#include "agent/heap/heap_totals.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <string.h>

#define LEAST_BYTES (UINT64_C(16) << 10) /* of a path to be kept */
#define PLUGGED_MAX 256                  /* paths */
#define LEAST_PART 16384                 /* of the heap: far below what counts as growth (leak_verdict.h) */

static enum leak_root leak_root_of(const struct heap_root *r)
{
	switch (r->kind) {
	case HEAP_ROOT_STATIC:
		return LEAK_ROOT_STATIC;
	case HEAP_ROOT_THREAD_STATIC:
		return LEAK_ROOT_THREAD_STATIC;
	case HEAP_ROOT_HANDLE:
		return r->flags & HEAP_ROOT_PINNED ? LEAK_ROOT_PINNED_HANDLE : LEAK_ROOT_HANDLE;
	case HEAP_ROOT_DEPENDENT:
		return LEAK_ROOT_DEPENDENT_HANDLE;
	case HEAP_ROOT_FINALIZER:
		return LEAK_ROOT_FINALIZER;
	case HEAP_ROOT_STACK:
		return LEAK_ROOT_STACK;
	default:
		return LEAK_ROOT_OTHER;
	}
}

/* The group's step in the model. */
static uint32_t leak_step_of(struct leak_model *m, const struct heap_graph *g, const struct heap_group *group, const uint32_t *steps)
{
	const struct heap_snapshot *s = g->snapshot;
	if (group->depth == 1) {
		const struct heap_root *r = group->type < g->root_count ? &s->roots[group->type] : NULL;
		return r ? leak_model_root(m, leak_root_of(r), r->label) : leak_model_root(m, LEAK_ROOT_UNKNOWN, "no known root");
	}
	const struct heap_type *t = &s->types[group->type];
	return leak_model_step(m, steps[group->parent], t->name, t->short_name, t->module, NULL);
}

/* Fields are looked for once: a step keeps its name. */
static void take_fields(struct leak_model *m, const struct heap_merge *from, const uint32_t *steps)
{
	AUTO_FREE struct heap_field_pair *pairs = mem_calloc((size_t)from->count + 1, sizeof *pairs);
	size_t count = 0, next = 0;
	for (uint32_t i = 1; i < from->count; i++) {
		if (steps[i] != LEAK_NONE && from->groups[i].depth > 2 && m->steps[steps[i]].field == LEAK_NONE)
			pairs[count++] = (struct heap_field_pair){.holder = from->groups[i].parent, .held = i};
	}
	if (count)
		heap_fields_find(from, pairs, count);
	for (uint32_t i = 1; i < from->count && next < count; i++) {
		if (pairs[next].held == i)
			leak_model_name_field(m, steps[i], pairs[next++].name);
	}
}

/* What a dependent handle holds has no field that does: the table that the handle belongs to stands for it. */
static void take_dependents(struct leak_model *m, const struct heap_graph *g, const uint32_t *steps)
{
	const struct heap_snapshot *s = g->snapshot;
	const struct heap_merge *from = heap_graph_merge(g);
	AUTO_FREE uint64_t *counts = mem_calloc((size_t)from->count + 1, sizeof *counts);
	for (size_t i = 0; i < s->root_count; i++) {
		if (s->roots[i].kind != HEAP_ROOT_DEPENDENT)
			continue;
		uint32_t key = heap_graph_node(g, s->roots[i].object), value = heap_graph_node(g, s->roots[i].second);
		if (key == HEAP_NODE_NONE || value == HEAP_NODE_NONE)
			continue;
		uint32_t group = from->group[value];
		if (group != HEAP_GROUP_NONE && from->groups[group].parent == from->group[key])
			counts[group]++;
	}
	for (uint32_t i = 1; i < from->count; i++) {
		if (steps[i] != LEAK_NONE && counts[i] && counts[i] * 2 >= from->groups[i].count)
			leak_model_name_field(m, steps[i], LEAK_DEPENDENT_FIELD);
	}
}

/* What stands for an assembly that can be unloaded: an object of one of its types, its loader, its AssemblyLoadContext. */
static bool is_plugged(const struct heap_type *t)
{
	bool unloading = false, resolving = false;
	if (t->flags & HEAP_TYPE_COLLECTIBLE || strcmp(t->name, LEAK_LOADER) == 0)
		return true;
	for (size_t i = 0; i < t->field_count; i++) { /* those of the base class are among them */
		unloading |= strcmp(t->fields[i].name, "_unloadLock") == 0;
		resolving |= strcmp(t->fields[i].name, "_resolving") == 0;
	}
	return unloading && resolving;
}

/* Who holds what can be unloaded is kept, however small it is: by group, with all groups above. */
static bool *find_plugged(const struct heap_graph *g)
{
	const struct heap_merge *from = heap_graph_merge(g);
	bool *keep = mem_calloc((size_t)from->count + 1, sizeof *keep);
	size_t left = PLUGGED_MAX;
	for (uint32_t i = 1; i < from->count && left; i++) {
		const struct heap_group *group = &from->groups[i];
		if (group->depth < 2 || !is_plugged(&g->snapshot->types[group->type]))
			continue;
		left--;
		for (uint32_t k = i; k != HEAP_GROUP_NONE && !keep[k]; k = from->groups[k].parent)
			keep[k] = true;
	}
	return keep;
}

/* Of the tree of paths, what is large enough; groups above a large one are large. */
static void take_paths(struct leak_model *m, const struct heap_graph *g, size_t walk)
{
	const struct heap_merge *from = heap_graph_merge(g);
	uint64_t least = g->retained[0] / LEAST_PART;
	AUTO_FREE uint32_t *steps = mem_calloc((size_t)from->count + 1, sizeof *steps);
	if (least < LEAST_BYTES)
		least = LEAST_BYTES;
	AUTO_FREE bool *keep = find_plugged(g);
	memset(steps, 0xff, (size_t)from->count * sizeof *steps);
	for (uint32_t i = 1; i < from->count; i++) {
		const struct heap_group *group = &from->groups[i];
		if (group->held < least && !keep[i])
			continue;
		uint32_t step = steps[i] = leak_step_of(m, g, group, steps);
		if (step == LEAK_NONE)
			continue;
		struct leak_figures *f = leak_model_at(m, step, walk); /* labels of roots may be equal but for their kinds */
		f->count += group->count;
		f->bytes += group->depth == 1 ? 0 : group->bytes;
		f->held += group->held;
		m->steps[step].nested |= group->nested;
		m->steps[step].plugged |= group->depth > 1 && is_plugged(&g->snapshot->types[group->type]);
	}
	take_fields(m, from, steps);
	take_dependents(m, g, steps);
}

static uint64_t old_bytes(const struct heap_total *t)
{
	return t->generation_bytes[HEAP_GEN2] + t->generation_bytes[HEAP_GEN_LOH] + t->generation_bytes[HEAP_GEN_POH] +
	       t->generation_bytes[HEAP_GEN_FROZEN];
}

/* Objects that are only in use by nobody that is known, by type. */
static uint64_t *unheld_counts(const struct heap_graph *g)
{
	uint64_t *counts = mem_calloc((size_t)g->snapshot->type_count + 1, sizeof *counts);
	uint32_t place = g->place_of[HEAP_GRAPH_UNHELD(g)];
	if (place == HEAP_NODE_NONE)
		return counts;
	for (uint32_t i = place + 1; i <= place + g->below[place]; i++) {
		if (g->node_at[i] < g->objects)
			counts[heap_graph_type(g, g->node_at[i])]++;
	}
	return counts;
}

/* `unheld`: objects by type that no known root holds; NULL: not known. */
static void take_types(struct leak_model *m, const struct heap_snapshot *s, const struct heap_total *totals, const uint64_t *unheld, size_t walk)
{
	struct leak_walk *w = &m->walks[walk];
	for (uint32_t i = 0; i < s->type_count; i++) {
		const struct heap_total *t = &totals[i];
		uint64_t loose = unheld ? unheld[i] : 0;
		w->objects += t->count - loose;
		w->bytes += t->bytes - t->unheld_bytes;
		w->loose_objects += t->dead_count + loose;
		w->loose_bytes += t->dead_bytes + t->unheld_bytes;
		uint32_t type = t->count + t->dead_count ? leak_model_type(m, s->types[i].name, s->types[i].module) : LEAK_NONE;
		if (type == LEAK_NONE)
			continue;
		struct leak_type_figures *f = leak_model_type_at(m, type, walk);
		uint64_t old = old_bytes(t), held = t->bytes - t->unheld_bytes;
		f->count += t->count - loose;
		f->bytes += held;
		f->old_bytes += old < held ? old : held;
		f->loose_count += t->dead_count + loose;
		f->loose_bytes += t->dead_bytes + t->unheld_bytes;
	}
}

static void take_graph_types(struct leak_model *m, const struct heap_graph *g, size_t walk)
{
	struct heap_groups groups;
	heap_groups_by_type(&groups, g->snapshot);
	AUTO_FREE struct heap_total *totals = mem_calloc((size_t)groups.count + 1, sizeof *totals);
	AUTO_FREE uint64_t *unheld = unheld_counts(g);
	heap_totals(g, &groups, totals);
	take_types(m, g->snapshot, totals, unheld, walk);
	heap_groups_fini(&groups);
}

static void take_counted_types(struct leak_model *m, const struct heap_snapshot *s, size_t walk)
{
	struct heap_groups groups;
	heap_groups_by_type(&groups, s);
	AUTO_FREE struct heap_total *totals = mem_calloc((size_t)groups.count + 1, sizeof *totals);
	heap_counts_totals(s, &groups, totals);
	take_types(m, s, totals, NULL, walk);
	heap_groups_fini(&groups);
}

static void take_spaces(struct leak_walk *w, const struct heap_space *spaces)
{
	for (size_t i = 0; i < HEAP_GENERATIONS; i++) {
		const struct heap_space *s = &spaces[i];
		uint64_t used = s->bytes + s->dead_bytes;
		w->spaces[i] = (struct leak_space){s->range_bytes ? s->range_bytes : used + s->free_bytes, used, s->free_bytes};
		w->free_bytes += s->free_bytes;
		w->pinned_objects += s->pinned_count;
	}
}

static int begin_walk(struct leak_model *m, const struct heap_facts *f, int64_t at_ns, struct err *e)
{
	if (m->walk_count >= LEAK_MAX_WALKS)
		return err_set(e, ERR_INTERNAL, 0, "more than %d heap walks in one session", LEAK_MAX_WALKS);
	m->walks[m->walk_count] = (struct leak_walk){
		.at_ns = at_ns,
		.exact = f->way == HEAP_WAY_EXACT,
		.roots_unread = f->roots_unread,
		.types_only = f->way == HEAP_WAY_TYPES,
		.needs = f->needs,
		.why = f->why,
		.stop_us = f->paused_us,
		.resident_bytes = -1,
		.container_bytes = -1,
		.unmanaged_bytes = -1,
	};
	return 0;
}

int leak_take_counts(struct leak_model *m, const struct heap_snapshot *s, int64_t at_ns, struct err *e)
{
	struct heap_space spaces[HEAP_GENERATIONS];
	if (begin_walk(m, &s->facts, at_ns, e) < 0)
		return -1;
	take_counted_types(m, s, m->walk_count);
	heap_counts_spaces(s, spaces);
	for (size_t i = 0; i < HEAP_GENERATIONS && !s->facts.part; i++)
		heap_space_find_free(&spaces[i]);
	take_spaces(&m->walks[m->walk_count], spaces);
	m->walk_count++;
	return 0;
}

int leak_take(struct leak_model *m, const struct heap_graph *g, int64_t at_ns, struct err *e)
{
	struct heap_space spaces[HEAP_GENERATIONS];
	size_t walk = m->walk_count;
	if (!heap_graph_merge(g)->groups)
		return err_set(e, ERR_INTERNAL, 0, "the heap's graph was made without the ways from its roots");
	if (begin_walk(m, &g->snapshot->facts, at_ns, e) < 0)
		return -1;
	take_paths(m, g, walk);
	take_graph_types(m, g, walk);
	heap_spaces(g, spaces);
	take_spaces(&m->walks[walk], spaces);
	m->walk_count++;
	return 0;
}
