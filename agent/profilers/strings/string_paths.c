#include "agent/profilers/strings/string_paths.h"

#include "agent/symbols/method_name.h"
#include "agent/profilers/strings/address_list.h"
#include "common/base/hash.h"

#include <stdlib.h>
#include <string.h>

#define HOPS 4
#define OBJECTS_MAX (1u << 21) /* at one step */
#define STEPS_MAX (1u << 16)
#define OBJECT_HOLDERS 8       /* fields of one array's elements that are told apart */
#define PATH_BYTES 1000
#define NO_STEP UINT32_MAX

/* A step outwards: from a holder itself (`parent` its index), then by a slot, or by a root's label at last. */
enum step_kind { STEP_HOLDER, STEP_SLOT, STEP_ROOT };
struct step_key {
	uint32_t parent, kind, type, zero;
	uint64_t place; /* the slot's offset; the label's address */
};

struct step {
	struct step_key key;
	uint32_t index;
	uint32_t best;       /* the child with the most weight; NO_STEP: none */
	uint64_t weight;
	const char *label;   /* of a root; the snapshot's */
	UT_hash_handle hh;
};

struct held {
	uint32_t step;
	uint64_t weight;
};

struct layer {
	struct address_list objects; /* numbered by the entry of `held`; an object may be there several times */
	struct held *held;
	size_t count, cap;
};

struct string_paths {
	const struct heap_snapshot *s;
	struct step **steps;
	size_t step_count, step_cap;
	struct step *by_key;
	struct layer now, next;
	struct string_holders slots; /* for their fingers */
};

struct string_paths *string_paths_new(const struct heap_snapshot *s)
{
	struct string_paths *p = mem_alloc(sizeof *p);
	p->s = s;
	string_holders_init(&p->slots, s);
	return p;
}

static void layer_fini(struct layer *l)
{
	address_list_fini(&l->objects);
	free(l->held);
	*l = (struct layer){0};
}

void string_paths_free(struct string_paths *p)
{
	if (!p)
		return;
	HASH_CLEAR(hh, p->by_key);
	for (size_t i = 0; i < p->step_count; i++)
		free(p->steps[i]);
	free(p->steps);
	layer_fini(&p->now);
	layer_fini(&p->next);
	string_holders_fini(&p->slots);
	free(p);
}

bool string_paths_through(const struct heap_type *t)
{
	return t->flags & HEAP_TYPE_ARRAY || strncmp(t->space, "System.Collections", strlen("System.Collections")) == 0;
}

/* NULL: there are too many. */
static struct step *find_or_add_step(struct string_paths *p, const struct step_key *key)
{
	struct step *have;
	HASH_FIND(hh, p->by_key, key, sizeof *key, have);
	if (have || p->step_count == STEPS_MAX)
		return have;
	struct step *made = mem_alloc(sizeof *made);
	made->key = *key;
	made->index = (uint32_t)p->step_count;
	made->best = NO_STEP;
	HASH_ADD(hh, p->by_key, key, sizeof *key, made);
	GROW(p->steps, p->step_count, p->step_cap);
	p->steps[p->step_count++] = made;
	return made;
}

static void layer_add(struct layer *l, uint64_t object, uint32_t step, uint64_t weight)
{
	if (l->count == OBJECTS_MAX)
		return;
	GROW(l->held, l->count, l->cap);
	l->held[l->count] = (struct held){step, weight};
	address_list_add(&l->objects, object, 0, (uint32_t)l->count++);
}

/* The newest entries, when they are of this object, take what is of the same step. */
static void layer_join(struct layer *l, uint64_t object, uint32_t step, uint64_t weight)
{
	for (size_t i = l->count; i-- > 0 && l->count - i <= OBJECT_HOLDERS;) {
		if (address_entry_address(&l->objects.items[i]) != (object & ~UINT64_C(7)))
			break;
		if (l->held[i].step == step) {
			l->held[i].weight += weight;
			return;
		}
	}
	layer_add(l, object, step, weight);
}

void string_paths_add(struct string_paths *p, uint32_t holder, uint64_t object, uint64_t wasted_bytes)
{
	struct step *step = find_or_add_step(p, &(struct step_key){.parent = holder, .kind = STEP_HOLDER});
	if (step)
		layer_join(&p->now, object, step->index, wasted_bytes);
}

/* One more holder of what the entry stands for; the first one is its holder. The new step, or NULL. */
static struct step *add_holder_step(struct string_paths *p, size_t at, const struct step_key *how)
{
	struct address_entry *e = &p->now.objects.items[at];
	const struct held *h = &p->now.held[e->number];
	struct step_key key = *how;
	key.parent = h->step;
	e->key |= ADDRESS_MARK_HELD;
	struct step *step = find_or_add_step(p, &key), *parent = p->steps[h->step];
	if (!step)
		return NULL;
	step->weight += h->weight;
	if (parent->best == NO_STEP || step->weight > p->steps[parent->best]->weight)
		parent->best = step->index;
	return step;
}

static bool same_object(const struct layer *l, size_t at, uint64_t object)
{
	return at < l->objects.count && address_entry_address(&l->objects.items[at]) == object;
}

static void take_roots(struct string_paths *p, bool statics)
{
	size_t finger = 0;
	for (size_t i = 0; i < p->s->root_count; i++) {
		const struct heap_root *r = &p->s->roots[i];
		bool is_static = r->kind == HEAP_ROOT_STATIC || r->kind == HEAP_ROOT_THREAD_STATIC;
		if (is_static != statics || r->flags & (HEAP_ROOT_INTERIOR | HEAP_ROOT_CONSERVATIVE | HEAP_ROOT_WEAK) || !r->label)
			continue;
		size_t at = address_list_find(&p->now.objects, r->object, &finger);
		for (; at != ADDRESS_NONE && same_object(&p->now, at, r->object); at++) {
			if (p->now.objects.items[at].key & ADDRESS_MARK_HELD)
				continue;
			struct step *step = add_holder_step(p, at, &(struct step_key){.kind = STEP_ROOT, .place = (uintptr_t)r->label});
			if (step)
				step->label = r->label;
		}
	}
}

static void add_slot_holder(struct string_paths *p, const struct heap_object_record *owner, uint64_t offset, uint64_t target)
{
	const struct heap_type *t = &p->s->types[owner->type];
	size_t at = address_list_find(&p->now.objects, target, &string_holders_slot(&p->slots, owner->type, offset)->finger);
	if (at == ADDRESS_NONE || target == owner->address)
		return;
	struct step_key how = {.kind = STEP_SLOT, .type = owner->type, .place = string_holders_offset(t, offset)};
	for (; same_object(&p->now, at, target); at++) {
		if (p->now.objects.items[at].key & ADDRESS_MARK_HELD)
			continue;
		uint64_t weight = p->now.held[p->now.objects.items[at].number].weight;
		struct step *step = add_holder_step(p, at, &how);
		if (step && string_paths_through(t))
			layer_join(&p->next, owner->address, step->index, weight);
	}
}

static void take_slots(struct string_paths *p)
{
	struct heap_cursor c;
	uint64_t offset, target;
	heap_snapshot_cursor(p->s, &c);
	while (heap_snapshot_object(&c)) {
		const struct heap_object_record owner = c.object;
		while (heap_cursor_edge(&c, &offset, &target))
			add_slot_holder(p, &owner, offset, target);
	}
}

static void spell_step(const struct string_paths *p, const struct step *step, struct buf *out)
{
	if (step->key.kind == STEP_ROOT) {
		method_name_printable(step->label, PATH_BYTES / 2, out);
		return;
	}
	const struct heap_type *t = &p->s->types[step->key.type];
	uint64_t offset = t->flags & HEAP_TYPE_ARRAY ? step->key.place + t->elements_at : step->key.place;
	string_holder_spell(t, string_paths_through(t) ? t->short_name : t->name, offset, out);
}

/* Outermost first. */
static void spell_path(const struct string_paths *p, const struct step *from, struct string_holder *h)
{
	const struct step *way[HOPS + 1];
	size_t count = 0;
	for (uint32_t at = from->best; at != NO_STEP && count < HOPS + 1; at = p->steps[at]->best)
		way[count++] = p->steps[at];
	AUTO_BUF struct buf path, shown;
	buf_init(&path, PATH_BYTES * 64);
	while (count-- > 0) {
		spell_step(p, way[count], &path);
		if (count)
			buf_puts(&path, " -> ");
	}
	buf_init(&shown, PATH_BYTES * 16);
	method_name_printable(buf_str(&path), PATH_BYTES, &shown);
	if (shown.len)
		h->held_by = buf_steal(&shown);
}

void string_paths_find(struct string_paths *p, struct string_holder *holders, size_t count)
{
	for (int hop = 0; hop < HOPS && p->now.count; hop++) {
		address_list_sort(&p->now.objects);
		take_roots(p, true);
		take_slots(p);
		take_roots(p, false);
		layer_fini(&p->now);
		p->now = p->next;
		p->next = (struct layer){0};
	}
	for (size_t i = 0; i < p->step_count; i++)
		if (p->steps[i]->key.kind == STEP_HOLDER && p->steps[i]->key.parent < count)
			spell_path(p, p->steps[i], &holders[p->steps[i]->key.parent]);
}
