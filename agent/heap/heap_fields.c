#include "agent/heap/heap_fields.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

struct search {
	const struct heap_merge *m;
	struct heap_held_by *fields;
	uint32_t *field_of; /* by group: its place in `fields`; NOBODY: nobody asks */
	uint32_t *wanted;   /* by group: how many groups below it were not seen often enough */
	size_t left;        /* all of those */
};

static void count_name(struct heap_held_by *f, const char *name)
{
	for (int i = 0; i < HEAP_FIELDS_NAMES; i++) {
		if (!f->names[i])
			f->names[i] = name;
		if (f->names[i] == name) {
			f->counts[i]++;
			return;
		}
	}
}

/* A reference of an object of the group `holder`. */
static void look_at_edge(struct search *s, uint32_t holder, const struct heap_type *type, uint64_t offset, uint64_t address)
{
	uint32_t target = heap_index_find(&s->m->nodes->index, address);
	uint32_t group = target == HEAP_INDEX_NONE ? HEAP_GROUP_NONE : s->m->group[target];

	if (group == HEAP_GROUP_NONE || s->field_of[group] == NOBODY || s->m->groups[group].parent != holder)
		return;
	struct heap_held_by *f = &s->fields[s->field_of[group]];
	if (f->seen >= HEAP_FIELDS_ENOUGH)
		return;
	count_name(f, heap_type_field(type, offset));
	if (++f->seen == HEAP_FIELDS_ENOUGH) {
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

static const char *most_frequent(const struct heap_held_by *f)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < HEAP_FIELDS_NAMES; i++)
		if (f->counts[i] > f->counts[best])
			best = i;
	return f->counts[best] ? f->names[best] : "";
}

void heap_fields_find(const struct heap_merge *m, struct heap_held_by *fields, size_t count)
{
	struct search s = {.m = m, .fields = fields};

	s.field_of = mem_calloc((size_t)m->count + 1, sizeof *s.field_of);
	s.wanted = mem_calloc((size_t)m->count + 1, sizeof *s.wanted);
	memset(s.field_of, 0xff, ((size_t)m->count + 1) * sizeof *s.field_of);
	for (uint32_t i = 0; i < count; i++) {
		if (s.field_of[fields[i].group] != NOBODY)
			continue;
		s.field_of[fields[i].group] = i;
		s.wanted[m->groups[fields[i].group].parent]++;
		s.left++;
	}
	for (size_t i = 0; i < m->nodes->piece_count && s.left; i++)
		look_at_piece(&s, &m->nodes->pieces[i]);
	for (size_t i = 0; i < count; i++)
		fields[i].name = most_frequent(&fields[s.field_of[fields[i].group]]);
	free(s.field_of);
	free(s.wanted);
}
