#include "agent/heap/heap_paths.h"

#include "agent/heap/heap_fields.h"
#include "agent/heap/heap_graph_private.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define FANS_OUT 2       /* so many times as many objects as in the step before: here the many begin */
#define MANY 100         /* objects: a step of so many says something however its bytes fan out */
#define BEYOND 4         /* steps that belong to the runtime */
#define HEAD_STEPS 8     /* of a way that is too long: so many of its first steps, then its last ones */

struct ways {
	const struct heap_merge *m;
	const struct heap_type *types;
	uint64_t least;
	uint32_t *first_child, *next; /* by group */
	uint32_t *open;               /* groups that may be ways or lie above some: a heap, the one with most bytes on top */
	size_t open_count, open_cap;
};

static bool heavier(const struct ways *w, uint32_t a, uint32_t b)
{
	uint64_t x = w->m->groups[a].held, y = w->m->groups[b].held;

	return x != y ? x > y : a < b;
}

static void push_group(struct ways *w, uint32_t group)
{
	size_t at = w->open_count;

	if (w->m->groups[group].held < w->least)
		return;
	GROW(w->open, w->open_count, w->open_cap);
	for (w->open_count++; at > 0 && heavier(w, group, w->open[(at - 1) / 2]); at = (at - 1) / 2)
		w->open[at] = w->open[(at - 1) / 2];
	w->open[at] = group;
}

static uint32_t pop_group(struct ways *w)
{
	uint32_t best = w->open[0], last = w->open[--w->open_count];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= w->open_count)
			break;
		if (child + 1 < w->open_count && heavier(w, w->open[child + 1], w->open[child]))
			child++;
		if (!heavier(w, w->open[child], last))
			break;
		w->open[at] = w->open[child];
		at = child;
	}
	w->open[at] = last;
	return best;
}

static uint32_t heaviest_child_group(const struct ways *w, uint32_t group)
{
	uint32_t best = HEAP_GROUP_NONE;

	for (uint32_t c = w->first_child[group]; c != HEAP_GROUP_NONE; c = w->next[c])
		if (best == HEAP_GROUP_NONE || heavier(w, c, best))
			best = c;
	return best;
}

static void push_child_groups(struct ways *w, uint32_t group, uint32_t but)
{
	for (uint32_t c = w->first_child[group]; c != HEAP_GROUP_NONE; c = w->next[c])
		if (c != but)
			push_group(w, c);
}

/* Bytes of the children that are ways of their own. */
static uint64_t held_by_heavy_children(const struct ways *w, uint32_t group)
{
	uint64_t held = 0;

	for (uint32_t c = w->first_child[group]; c != HEAP_GROUP_NONE; c = w->next[c])
		held += w->m->groups[c].held >= w->least ? w->m->groups[c].held : 0;
	return held;
}

static double fan_out(const struct ways *w, uint32_t group)
{
	const struct heap_group *g = &w->m->groups[group];
	uint64_t before = g->depth <= 2 ? 1 : w->m->groups[g->parent].count;

	return (double)g->count / (double)(before ? before : 1);
}

static bool is_of_the_runtime(const struct ways *w, uint32_t group)
{
	const char *space = w->types[w->m->groups[group].type].space;

	return space && strncmp(space, "System", 6) == 0 && (space[6] == '\0' || space[6] == '.');
}

/* Many delegates, nodes of a dictionary, tasks ... are not what the user has many of: that is what they lead to, one each, with half of
 * their bytes at least. */
static uint32_t beyond_the_runtime(const struct ways *w, uint32_t end)
{
	const struct heap_group *many = &w->m->groups[end];

	if (many->depth < 2 || !is_of_the_runtime(w, end))
		return end;
	for (uint32_t c = heaviest_child_group(w, end), i = 0; c != HEAP_GROUP_NONE && i < BEYOND; c = heaviest_child_group(w, c), i++) {
		if (w->m->groups[c].held < many->held / 2 || w->m->groups[c].count < many->count / 2)
			break;
		if (!is_of_the_runtime(w, c))
			return c;
	}
	return end;
}

/* From a group down, as long as one child has half of what the group holds: the way ends where one becomes many (where it does so most),
 * else at its end. */
static uint32_t end_of_way(const struct ways *w, uint32_t start)
{
	uint64_t half = w->m->groups[start].held / 2;
	uint32_t best = start, last = start;
	double most = w->m->groups[start].depth == 1 ? 0 : fan_out(w, start);

	for (uint32_t c = heaviest_child_group(w, start); c != HEAP_GROUP_NONE && w->m->groups[c].held >= half; c = heaviest_child_group(w, c)) {
		double fan = fan_out(w, c);
		last = c;
		if (fan > most) {
			most = fan;
			best = c;
		}
	}
	return most >= FANS_OUT ? beyond_the_runtime(w, best) : last;
}

/* Offers what hangs beside the way from `end` up to `start`. */
static void offer_beside(struct ways *w, uint32_t start, uint32_t end)
{
	for (uint32_t at = end; at != start; at = w->m->groups[at].parent)
		push_child_groups(w, w->m->groups[at].parent, at);
}

/* The next way's last group; HEAP_GROUP_NONE: there is none. A group whose bytes fan out by types, not by numbers, says little: its
 * children say more. */
static uint32_t next_way(struct ways *w)
{
	while (w->open_count) {
		uint32_t start = pop_group(w), end = end_of_way(w, start);
		const struct heap_group *g = &w->m->groups[end];
		offer_beside(w, start, end);
		if (g->depth > 1 && (fan_out(w, end) >= FANS_OUT || g->count >= MANY || held_by_heavy_children(w, end) < g->held / 2))
			return end;
		push_child_groups(w, end, HEAP_GROUP_NONE);
	}
	return HEAP_GROUP_NONE;
}

static void link_child_groups(struct ways *w)
{
	size_t bytes = ((size_t)w->m->count + 1) * sizeof(uint32_t);

	w->first_child = mem_alloc(bytes);
	w->next = mem_alloc(bytes);
	memset(w->first_child, 0xff, bytes);
	memset(w->next, 0xff, bytes);
	for (uint32_t i = w->m->count; i-- > 1;) {
		w->next[i] = w->first_child[w->m->groups[i].parent];
		w->first_child[w->m->groups[i].parent] = i;
	}
}

/* Paths of the ways found ----------------------------------------------------------------------------------------------------- */

/* `groups` gets the group of each step. */
static void describe_path(const struct heap_graph *g, uint32_t end, struct heap_path *p, uint32_t groups[HEAP_PATH_MAX_STEPS])
{
	const struct heap_merge *m = &g->own->merge;
	size_t all = m->groups[end].depth - 1, at = all;
	uint32_t group = end;

	*p = (struct heap_path){.held = m->groups[end].held, .cut = all > HEAP_PATH_MAX_STEPS};
	p->step_count = p->cut ? HEAP_PATH_MAX_STEPS : all;
	for (; m->groups[group].depth > 1; group = m->groups[group].parent) {
		const struct heap_group *from = &m->groups[group];
		at--;
		if (p->cut && at >= HEAD_STEPS && at < all - (HEAP_PATH_MAX_STEPS - HEAD_STEPS))
			continue;
		size_t step = p->cut && at >= HEAD_STEPS ? at - (all - HEAP_PATH_MAX_STEPS) : at;
		groups[step] = group;
		p->steps[step] = (struct heap_step){.type = from->type, .field = "", .nested = from->nested, .count = from->count,
						    .bytes = from->bytes, .held = from->held, .sample = from->sample};
	}
	p->roots = m->groups[group].count;
	p->root_held = m->groups[group].held;
	if (m->groups[group].type < g->root_count) {
		p->kind = g->snapshot->roots[m->groups[group].type].kind;
		p->label = g->snapshot->roots[m->groups[group].type].label;
	}
	p->label = p->label ? p->label : "";
}

/* The first step is held by the root itself, and a step after a cut by one that is not there. */
static void find_fields(const struct heap_graph *g, struct heap_paths *out, uint32_t (*groups)[HEAP_PATH_MAX_STEPS])
{
	const struct heap_merge *m = &g->own->merge;
	struct heap_field_pair *pairs = mem_calloc(out->count * HEAP_PATH_MAX_STEPS + 1, sizeof *pairs);
	size_t count = 0;

	for (size_t i = 0; i < out->count; i++)
		for (size_t k = 1; k < out->paths[i].step_count; k++)
			pairs[count++] = (struct heap_field_pair){.holder = m->groups[groups[i][k]].parent, .held = groups[i][k]};
	heap_fields_find(m, pairs, count);
	count = 0;
	for (size_t i = 0; i < out->count; i++)
		for (size_t k = 1; k < out->paths[i].step_count; k++)
			out->paths[i].steps[k].field = pairs[count++].name;
	free(pairs);
}

static int by_held(const void *a, const void *b)
{
	const struct heap_path *x = a, *y = b;

	return x->held != y->held ? (x->held < y->held) - (x->held > y->held) : 0;
}

int heap_paths_find(const struct heap_graph *g, uint64_t least_bytes, size_t max, struct heap_paths *out, struct err *e)
{
	struct ways w = {.m = &g->own->merge, .types = g->snapshot->types, .least = least_bytes ? least_bytes : 1};
	uint32_t (*groups)[HEAP_PATH_MAX_STEPS], end;

	*out = (struct heap_paths){.reached_bytes = g->retained[0]};
	if (!w.m->groups)
		return err_set(e, ERR_INTERNAL, 0, "the heap's graph was made without the ways from its roots");
	link_child_groups(&w);
	push_child_groups(&w, 0, HEAP_GROUP_NONE);
	out->paths = mem_calloc(max + 1, sizeof *out->paths);
	groups = mem_calloc(max + 1, sizeof *groups);
	while (out->count < max && (end = next_way(&w)) != HEAP_GROUP_NONE) {
		describe_path(g, end, &out->paths[out->count], groups[out->count]);
		out->count++;
	}
	find_fields(g, out, groups);
	if (out->count)
		qsort(out->paths, out->count, sizeof *out->paths, by_held);
	free(groups);
	free(w.first_child);
	free(w.next);
	free(w.open);
	return 0;
}

void heap_paths_fini(struct heap_paths *p)
{
	free(p->paths);
	*p = (struct heap_paths){0};
}
