#include "agent/heap/heap_fields.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

struct search {
	const struct heap_merge *m;
	struct heap_field_pair *pairs;
	uint32_t *pair_of; /* by group: its pair; NOBODY: nobody asks */
	uint32_t *wanted;   /* by group: how many groups below it were not seen often enough */
	size_t left;        /* all of those */
};

static void count_name(struct heap_field_pair *p, const char *name)
{
	for (int i = 0; i < HEAP_FIELDS_NAMES; i++) {
		if (!p->names[i])
			p->names[i] = name;
		if (p->names[i] == name) {
			p->counts[i]++;
			return;
		}
	}
}

/* A reference of an object of the group `holder`. */
static void look_at_edge(struct search *s, uint32_t holder, const struct heap_type *type, uint64_t offset, uint64_t address)
{
	uint32_t target = heap_index_find(&s->m->nodes->index, address);
	uint32_t group = target == HEAP_INDEX_NONE ? HEAP_GROUP_NONE : s->m->group[target];

	if (group == HEAP_GROUP_NONE || s->pair_of[group] == NOBODY || s->m->groups[group].parent != holder)
		return;
	struct heap_field_pair *p = &s->pairs[s->pair_of[group]];
	if (p->seen >= HEAP_FIELDS_ENOUGH)
		return;
	count_name(p, heap_type_field(type, offset));
	if (++p->seen == HEAP_FIELDS_ENOUGH) {
		s->wanted[holder]--;
		s->left--;
	}
}

static void look_at_piece(struct search *s, const struct heap_piece *p)
{
	const struct heap_nodes *n = s->m->nodes;
	uint32_t node = p->first;
	uint64_t offset, address;
	struct heap_cursor c;

	heap_piece_cursor(n, p, &c);
	for (uint32_t i = 0; i < p->records && s->left && heap_snapshot_object(&c); i++) {
		const struct heap_type *type = &n->snapshot->types[c.object.type];
		if (type->flags & HEAP_TYPE_FREE)
			continue;
		uint32_t group = s->m->group[node++];
		while (group != HEAP_GROUP_NONE && s->wanted[group] && heap_cursor_edge(&c, &offset, &address))
			look_at_edge(s, group, type, offset, address);
	}
}

static void look_at_dependents(struct search *s)
{
	const struct heap_nodes *n = s->m->nodes;

	for (size_t i = 0; i < n->snapshot->root_count; i++) {
		const struct heap_root *r = &n->snapshot->roots[i];
		if (r->kind != HEAP_ROOT_DEPENDENT)
			continue;
		uint32_t first = heap_index_find(&n->index, r->object), second = heap_index_find(&n->index, r->second);
		if (first == HEAP_INDEX_NONE || second == HEAP_INDEX_NONE || s->m->group[second] == HEAP_GROUP_NONE)
			continue;
		uint32_t group = s->m->group[second];
		if (s->pair_of[group] != NOBODY && s->m->groups[group].parent == s->m->group[first])
			count_name(&s->pairs[s->pair_of[group]], HEAP_FIELDS_DEPENDENT);
	}
}

static const char *most_frequent(const struct heap_field_pair *p)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < HEAP_FIELDS_NAMES; i++)
		if (p->counts[i] > p->counts[best])
			best = i;
	return p->counts[best] ? p->names[best] : "";
}

void heap_fields_find(const struct heap_merge *m, struct heap_field_pair *pairs, size_t count)
{
	struct search s = {.m = m, .pairs = pairs};

	s.pair_of = mem_calloc((size_t)m->count + 1, sizeof *s.pair_of);
	s.wanted = mem_calloc((size_t)m->count + 1, sizeof *s.wanted);
	memset(s.pair_of, 0xff, ((size_t)m->count + 1) * sizeof *s.pair_of);
	for (uint32_t i = 0; i < count; i++) {
		if (s.pair_of[pairs[i].held] != NOBODY)
			continue;
		s.pair_of[pairs[i].held] = i;
		s.wanted[pairs[i].holder]++;
		s.left++;
	}
	for (size_t i = 0; i < m->nodes->piece_count && s.left; i++)
		look_at_piece(&s, &m->nodes->pieces[i]);
	look_at_dependents(&s);
	for (size_t i = 0; i < count; i++)
		pairs[i].name = most_frequent(&pairs[s.pair_of[pairs[i].held]]);
	free(s.pair_of);
	free(s.wanted);
}
