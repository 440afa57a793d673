#include "agent/heap/heap_fields.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define NO_PAIR UINT32_MAX

struct search {
	const struct heap_merge *m;
	struct heap_field_pair *pairs;
	uint32_t *first; /* by group: its pairs as the holder; NO_PAIR: none */
	size_t left;     /* pairs that were not seen often enough */
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

static void look_at_edge(struct search *s, struct heap_cursor *c, uint32_t pair, uint64_t offset, uint64_t address)
{
	uint32_t target = heap_index_find(&s->m->nodes->index, address);
	uint32_t group = target == HEAP_INDEX_NONE ? HEAP_GROUP_NONE : s->m->group[target];

	for (; pair != NO_PAIR; pair = s->pairs[pair].next) {
		struct heap_field_pair *p = &s->pairs[pair];
		if (p->held != group || p->seen >= HEAP_FIELDS_ENOUGH)
			continue;
		count_name(p, heap_type_field(&s->m->nodes->snapshot->types[c->object.type], offset));
		if (++p->seen == HEAP_FIELDS_ENOUGH)
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
		if (n->snapshot->shapes[c.object.type].flags & HEAP_TYPE_FREE)
			continue;
		uint32_t group = s->m->group[node++];
		uint32_t pair = group == HEAP_GROUP_NONE ? NO_PAIR : s->first[group];
		while (pair != NO_PAIR && heap_cursor_edge(&c, &offset, &address))
			look_at_edge(s, &c, pair, offset, address);
	}
}

static void choose(struct heap_field_pair *p)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < HEAP_FIELDS_NAMES; i++)
		if (p->counts[i] > p->counts[best])
			best = i;
	p->name = p->counts[best] ? p->names[best] : "";
}

void heap_fields_find(const struct heap_merge *m, struct heap_field_pair *pairs, size_t count)
{
	struct search s = {.m = m, .pairs = pairs, .left = count};

	s.first = mem_calloc((size_t)m->count + 1, sizeof *s.first);
	memset(s.first, 0xff, ((size_t)m->count + 1) * sizeof *s.first);
	for (uint32_t i = 0; i < count; i++) {
		pairs[i] = (struct heap_field_pair){.holder = pairs[i].holder, .held = pairs[i].held, .next = s.first[pairs[i].holder]};
		s.first[pairs[i].holder] = i;
	}
	for (size_t i = 0; i < m->nodes->piece_count && s.left; i++)
		look_at_piece(&s, &m->nodes->pieces[i]);
	for (size_t i = 0; i < count; i++)
		choose(&pairs[i]);
	free(s.first);
}
