#include "agent/leak/leak_take.h"

#include "agent/heap/heap_paths.h"
#include "agent/heap/heap_totals.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <string.h>

#define LEAST_BYTES (UINT64_C(16) << 10) /* of a path to be kept */
#define LEAST_PART 16384                 /* of the heap: far below what counts as growth (leak_verdict.h) */
#define MAX_PATHS 8192

static enum leak_root root_of(const struct heap_path *p)
{
	switch (p->kind) {
	case HEAP_ROOT_STATIC:
		return LEAK_ROOT_STATIC;
	case HEAP_ROOT_THREAD_STATIC:
		return LEAK_ROOT_THREAD_STATIC;
	case HEAP_ROOT_HANDLE:
		return strstr(p->label, "pinned") ? LEAK_ROOT_PINNED_HANDLE : LEAK_ROOT_HANDLE;
	case HEAP_ROOT_DEPENDENT:
		return LEAK_ROOT_DEPENDENT_HANDLE;
	case HEAP_ROOT_FINALIZER:
		return LEAK_ROOT_FINALIZER;
	case HEAP_ROOT_STACK:
		return LEAK_ROOT_STACK;
	case HEAP_ROOT_OTHER:
		return LEAK_ROOT_OTHER;
	default:
		return LEAK_ROOT_UNKNOWN;
	}
}

/* Paths that begin alike say the same of what they share. */
static void take_path(struct leak_model *m, const struct heap_graph *g, const struct heap_path *p, size_t walk)
{
	enum leak_root kind = root_of(p);
	uint32_t step = leak_model_root(m, kind, kind == LEAK_ROOT_UNKNOWN ? "no known root" : p->label);
	if (step != LEAK_NONE)
		*leak_model_at(m, step, walk) = (struct leak_figures){.count = p->roots, .held = p->root_held};
	for (size_t i = 0; i < p->step_count; i++) {
		const struct heap_step *s = &p->steps[i];
		const struct heap_type *t = &g->snapshot->types[s->type];
		step = leak_model_step(m, step, t->name, t->short_name, t->module, s->field);
		if (step == LEAK_NONE)
			return;
		m->steps[step].nested |= s->nested;
		*leak_model_at(m, step, walk) = (struct leak_figures){.count = s->count, .bytes = s->bytes, .held = s->held};
	}
}

static int take_paths(struct leak_model *m, const struct heap_graph *g, size_t walk, struct err *e)
{
	struct heap_paths found;
	uint64_t least = g->retained[0] / LEAST_PART;
	if (least < LEAST_BYTES)
		least = LEAST_BYTES;
	if (heap_paths_find(g, least, MAX_PATHS, &found, e) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++)
		take_path(m, g, &found.paths[i], walk);
	heap_paths_fini(&found);
	return 0;
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

static void take_types(struct leak_model *m, const struct heap_graph *g, size_t walk)
{
	const struct heap_snapshot *s = g->snapshot;
	struct leak_walk *w = &m->walks[walk];
	struct heap_groups groups;
	heap_groups_by_type(&groups, s);
	AUTO_FREE struct heap_total *totals = mem_calloc((size_t)groups.count + 1, sizeof *totals);
	AUTO_FREE uint64_t *unheld = unheld_counts(g);
	heap_totals(g, &groups, totals);
	for (uint32_t i = 0; i < s->type_count; i++) {
		const struct heap_total *t = &totals[i];
		w->objects += t->count - unheld[i];
		w->bytes += t->bytes - t->unheld_bytes;
		w->loose_objects += t->dead_count + unheld[i];
		w->loose_bytes += t->dead_bytes + t->unheld_bytes;
		uint32_t type = t->count + t->dead_count ? leak_model_type(m, s->types[i].name, s->types[i].module) : LEAK_NONE;
		if (type == LEAK_NONE)
			continue;
		struct leak_type_figures *f = leak_model_type_at(m, type, walk);
		uint64_t old = old_bytes(t), held = t->bytes - t->unheld_bytes;
		f->count += t->count - unheld[i];
		f->bytes += held;
		f->old_bytes += old < held ? old : held;
		f->loose_count += t->dead_count + unheld[i];
		f->loose_bytes += t->dead_bytes + t->unheld_bytes;
	}
	heap_groups_fini(&groups);
}

static void take_spaces(struct leak_walk *w, const struct heap_graph *g)
{
	struct heap_space spaces[HEAP_GENERATIONS];
	heap_spaces(g, spaces);
	for (size_t i = 0; i < HEAP_GENERATIONS; i++) {
		const struct heap_space *s = &spaces[i];
		uint64_t used = s->bytes + s->dead_bytes;
		w->spaces[i] = (struct leak_space){s->range_bytes ? s->range_bytes : used + s->free_bytes, used, s->free_bytes};
		w->free_bytes += s->free_bytes;
		w->pinned_objects += s->pinned_count;
	}
}

int leak_take(struct leak_model *m, const struct heap_graph *g, int64_t at_ns, struct err *e)
{
	const struct heap_facts *f = &g->snapshot->facts;
	size_t walk = m->walk_count;
	if (walk >= LEAK_MAX_WALKS)
		return err_set(e, ERR_INTERNAL, 0, "more than %d heap walks in one session", LEAK_MAX_WALKS);
	if (take_paths(m, g, walk, e) < 0)
		return -1;
	m->walks[walk] = (struct leak_walk){
		.at_ns = at_ns,
		.exact = f->way == HEAP_WAY_EXACT,
		.why = f->why,
		.stop_us = f->collection_stop_us > f->walk_stop_us ? f->collection_stop_us : f->walk_stop_us,
		.resident_bytes = -1,
		.container_bytes = -1,
	};
	take_types(m, g, walk);
	take_spaces(&m->walks[walk], g);
	m->walk_count++;
	return 0;
}
