#include "agent/profilers/survivors/survivors.h"

#include "agent/heap/heap_counts.h"
#include "common/base/mem.h"

#include <pthread.h>
#include <stdlib.h>

#define LEAST_PATH 200 /* a path explains at least that part of the heap: a 200th */

double survivors_percent(const struct survivors *s, uint64_t bytes)
{
	double p = s->bytes ? 100.0 * (double)bytes / (double)s->bytes : 0;
	return p < 100 ? p : 100;
}

/* sums ------------------------------------------------------------------------------------------------------------ */

static void sum_spaces(struct survivors *s)
{
	if (s->graph)
		heap_spaces(s->graph, s->spaces);
	else
		heap_counts_spaces(s->snapshot, s->spaces);
	for (int i = 0; i < HEAP_GENERATIONS; i++) {
		struct heap_space *p = &s->spaces[i];
		if (!s->snapshot->facts.part) /* else a range may not have been read to its end */
			heap_space_find_free(p);
		s->objects += p->count + p->dead_count;
		s->bytes += p->bytes + p->dead_bytes;
		s->unreachable_objects += p->dead_count;
		s->unreachable_bytes += p->dead_bytes;
		s->free_bytes += p->free_bytes;
		s->pinned_objects += p->pinned_count;
		s->pinned_bytes += p->pinned_bytes;
	}
}

/* What hangs below no known root counts as unreachable, whichever way the roots were found. */
static void sum_unheld(struct survivors *s)
{
	if (s->tree.unknown) {
		s->unreachable_objects += s->tree.nodes[s->tree.unknown].retained_objects;
		s->unreachable_bytes += s->tree.nodes[s->tree.unknown].retained;
	}
	s->held_objects = s->objects - s->unreachable_objects;
	s->held_bytes = s->bytes - s->unreachable_bytes;
}

static void sum_kinds(struct survivors *s)
{
	for (uint32_t i = s->tree.nodes[0].first; i; i = s->tree.nodes[i].next) {
		struct survivors_kind_total *k = &s->kinds[s->tree.nodes[i].kind];
		k->roots += s->tree.nodes[i].objects;
		k->retained += s->tree.nodes[i].retained;
	}
}

/* groups of types ------------------------------------------------------------------------------------------------- */

static int group_by_retained(const void *a, const void *b)
{
	const struct survivors_group *x = a, *y = b;
	if (x->total.retained != y->total.retained)
		return x->total.retained > y->total.retained ? -1 : 1;
	uint64_t bx = x->total.bytes + x->total.dead_bytes, by = y->total.bytes + y->total.dead_bytes;
	if (bx != by)
		return bx > by ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

static void sum_groups(const struct survivors *s, struct heap_groups *of, uint32_t most, struct survivors_groups *out)
{
	struct heap_total *totals = mem_calloc(of->count + 1, sizeof *totals);
	out->items = mem_calloc(of->count + 1, sizeof *out->items);
	if (s->graph)
		heap_totals(s->graph, of, totals);
	else
		heap_counts_totals(s->snapshot, of, totals);
	for (uint32_t i = 0; i < of->count; i++)
		out->items[i] = (struct survivors_group){.name = of->names[i], .type = HEAP_NODE_NONE, .total = totals[i]};
	for (uint32_t t = s->snapshot->type_count; t-- > 0;)
		out->items[of->of_type[t]].type = t;
	qsort(out->items, of->count, sizeof *out->items, group_by_retained);
	for (uint32_t i = 0; i < of->count; i++) {
		const struct heap_total *t = &out->items[i].total;
		if (t->count + t->dead_count == 0)
			continue;
		if (out->count < most) {
			out->items[out->count++] = out->items[i];
			continue;
		}
		out->left_out++;
		out->left_out_objects += t->count + t->dead_count;
		out->left_out_bytes += t->bytes + t->dead_bytes;
	}
	heap_groups_fini(of);
	free(totals);
}

/* holders --------------------------------------------------------------------------------------------------------- */

static int holder_by_retained(const void *a, const void *b, void *ctx)
{
	const struct survivors_node *nodes = ctx;
	const struct survivors_holder *x = a, *y = b;
	if (nodes[x->node].retained != nodes[y->node].retained)
		return nodes[x->node].retained > nodes[y->node].retained ? -1 : 1;
	return x->node < y->node ? -1 : 1;
}

static void add_holder(struct survivors *s, uint32_t node, enum survivors_kind kind)
{
	if (s->tree.nodes[node].retained)
		s->holders[s->holder_count++] =
			(struct survivors_holder){node, survivors_tree_name(&s->tree, s->snapshot, node), kind};
}

static void list_holders(struct survivors *s)
{
	const struct survivors_node *nodes = s->tree.nodes;
	s->holders = mem_calloc(s->tree.count, sizeof *s->holders);
	for (uint32_t i = nodes[0].first; i; i = nodes[i].next) {
		if (nodes[i].kind != SURVIVORS_SEVERAL && nodes[i].kind != SURVIVORS_UNKNOWN) {
			add_holder(s, i, nodes[i].kind);
			continue;
		}
		for (uint32_t k = nodes[i].first; k; k = nodes[k].next)
			add_holder(s, k, nodes[i].kind);
	}
	qsort_r(s->holders, s->holder_count, sizeof *s->holders, holder_by_retained, s->tree.nodes);
	if (s->holder_count > SURVIVORS_MAX_HOLDERS)
		s->holder_count = SURVIVORS_MAX_HOLDERS;
}

/* all of it ------------------------------------------------------------------------------------------------------- */

struct path_search {
	struct survivors *s;
	int found;
	struct err e;
};

static void *find_paths(void *ctx)
{
	struct path_search *p = ctx;
	const struct heap_graph *g = p->s->graph;
	uint64_t least = g->placed ? g->retained[0] / LEAST_PATH : 0;
	p->found = heap_paths_find(g, least, SURVIVORS_MAX_PATHS, &p->s->paths, &p->e);
	return NULL;
}

static void sum_all_groups(struct survivors *s)
{
	struct heap_groups types, namespaces, assemblies;
	heap_groups_by_type(&types, s->snapshot);
	sum_groups(s, &types, SURVIVORS_MAX_TYPES, &s->types);
	heap_groups_by_space(&namespaces, s->snapshot);
	sum_groups(s, &namespaces, SURVIVORS_MAX_GROUPS, &s->namespaces);
	heap_groups_by_module(&assemblies, s->snapshot);
	sum_groups(s, &assemblies, SURVIVORS_MAX_GROUPS, &s->assemblies);
}

void survivors_make_types(const struct heap_snapshot *s, struct survivors *out)
{
	*out = (struct survivors){.snapshot = s};
	survivors_tree_none(&out->tree);
	sum_spaces(out);
	out->tree.nodes[0].retained = out->bytes;
	out->tree.nodes[0].retained_objects = out->objects;
	sum_all_groups(out);
}

int survivors_make(const struct heap_graph *g, struct survivors *out, struct err *e)
{
	*out = (struct survivors){.snapshot = g->snapshot, .graph = g};
	struct path_search search = {.s = out, .e = ERR_INIT};
	pthread_t helper;
	bool apart = pthread_create(&helper, NULL, find_paths, &search) == 0;
	survivors_tree_make(g, &out->tree);
	sum_spaces(out);
	sum_unheld(out);
	sum_kinds(out);
	list_holders(out);
	sum_all_groups(out);
	if (apart)
		pthread_join(helper, NULL);
	else
		find_paths(&search);
	if (search.found < 0)
		*e = search.e;
	return search.found;
}

void survivors_fini(struct survivors *s)
{
	free(s->types.items);
	free(s->namespaces.items);
	free(s->assemblies.items);
	free(s->holders);
	survivors_tree_fini(&s->tree);
	heap_paths_fini(&s->paths);
	*s = (struct survivors){0};
}
