#include "agent/profilers/strings/strings_analysis.h"

#include "agent/profilers/strings/string_filter.h"
#include "agent/profilers/strings/string_loose.h"
#include "agent/profilers/strings/string_paths.h"
#include "agent/profilers/strings/strings_list.h"
#include "agent/profilers/strings/strings_value.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>

#define ALIVE_OBJECTS (1u << 20)
#define VALUE_HOLDERS 256 /* of one value, that are told apart */

struct work {
	struct strings_analysis *a;
	const struct strings_options *o;
	struct string_filter filter;
	uint32_t part, parts;
	struct string_groups groups;   /* of this part */
	struct address_list strings;   /* of this part's groups, numbered by group */
	struct strings_value *list;    /* the best of this part */
	size_t list_count;
	struct string_paths *paths;
	struct string_loose loose;
};

static uint64_t real_size(uint64_t size)
{
	return (size + 7) & ~UINT64_C(7);
}

static bool is_old(enum heap_generation g)
{
	return g >= HEAP_GEN2;
}

/* The next object; its string's record when it is a string with one. */
static bool next_object(const struct work *w, struct heap_cursor *c, struct heap_string_record *r, bool *string)
{
	if (!heap_snapshot_object(c))
		return false;
	if (w->o->alive && (c->objects & (ALIVE_OBJECTS - 1)) == 0)
		w->o->alive(w->o->ctx);
	*string = w->a->snapshot->types[c->object.type].flags & HEAP_TYPE_STRING && heap_cursor_string(c, r);
	return true;
}

static void count_all(struct work *w)
{
	struct strings_analysis *a = w->a;
	struct heap_cursor c;
	struct heap_string_record r;
	bool string;
	heap_snapshot_cursor(a->snapshot, &c);
	while (next_object(w, &c, &r, &string)) {
		uint64_t size = real_size(c.object.size), offset, target;
		while (!string && heap_cursor_edge(&c, &offset, &target))
			string_loose_reference(&w->loose, target);
		if (a->snapshot->types[c.object.type].flags & HEAP_TYPE_FREE)
			continue;
		a->heap_objects++;
		a->heap_bytes += size;
		if (!string)
			continue;
		enum heap_generation g = heap_snapshot_generation(a->snapshot, c.object.address);
		a->strings++;
		a->bytes += size;
		a->generation[g].strings++;
		a->generation[g].bytes += size;
		string_filter_add(&w->filter, r.digest);
	}
}

static bool in_part(const struct work *w, uint64_t digest)
{
	return (digest >> 32) * w->parts >> 32 == w->part && string_filter_may_repeat(&w->filter, digest);
}

static void count_copy(struct strings_analysis *a, enum heap_generation g, uint64_t size)
{
	a->copies++;
	a->wasted_bytes += size;
	a->generation[g].copies++;
	a->generation[g].wasted_bytes += size;
}

static void group_strings(struct work *w)
{
	struct heap_cursor c;
	struct heap_string_record r;
	bool string;
	heap_snapshot_cursor(w->a->snapshot, &c);
	while (next_object(w, &c, &r, &string)) {
		if (!string || !in_part(w, r.digest))
			continue;
		uint32_t group = string_groups_add(&w->groups, r.digest, (uint32_t)r.length, c.object.size);
		bool first = w->groups.items[group].count == 1;
		enum heap_generation g = heap_snapshot_generation(w->a->snapshot, c.object.address);
		if (!first)
			count_copy(w->a, g, string_group_size(&w->groups.items[group]));
		address_list_add(&w->strings, c.object.address, (first ? ADDRESS_MARK_FIRST : 0) | (is_old(g) ? ADDRESS_MARK_OLD : 0), group);
	}
	address_list_sort(&w->strings);
}

static void choose_values(struct work *w)
{
	w->list_count = strings_list_choose(&w->groups, &w->strings, &w->list);
	for (size_t i = 0; i < w->groups.count; i++)
		w->a->duplicated_values += w->groups.items[i].count > 1;
	for (size_t i = 0; i < w->strings.count; i++) {
		uint32_t listed = w->groups.items[w->strings.items[i].number].listed;
		if (listed && w->strings.items[i].key & ADDRESS_MARK_OLD)
			w->list[listed - 1].old_count++;
	}
	for (size_t i = 0; i < w->list_count; i++)
		strings_value_id(w->o->secret, w->list[i].digest, w->list[i].chars, w->list[i].id);
}

static void count_holder_of_value(struct strings_value *v, uint32_t holder, bool copy)
{
	for (size_t i = 0; i < v->holder_count; i++) {
		if (v->holders[i].holder == holder) {
			v->holders[i].count++;
			v->holders[i].copies += copy;
			return;
		}
	}
	if (v->holder_count == VALUE_HOLDERS)
		return;
	GROW(v->holders, v->holder_count, v->holder_cap);
	v->holders[v->holder_count++] = (struct strings_of_value){holder, 1, copy};
}

/* One string has found its holder. What a copy of it wastes. */
static uint64_t assign_holder(struct work *w, struct address_entry *e, struct string_slot *slot, uint32_t type, uint64_t offset)
{
	const struct string_group *g = &w->groups.items[e->number];
	bool copy = !(e->key & ADDRESS_MARK_FIRST), old = e->key & ADDRESS_MARK_OLD;
	uint64_t wasted = copy ? string_group_size(g) : 0;
	e->key |= ADDRESS_MARK_HELD;
	struct string_holder *h = string_holders_of(&w->a->holders, slot, type, offset);
	if (!h) {
		w->a->crowded.strings++;
		w->a->crowded.copies += copy;
		w->a->crowded.wasted_bytes += wasted;
		return 0;
	}
	h->strings++;
	h->copies += copy;
	h->wasted_bytes += wasted;
	h->old_strings += old;
	if (g->chars > h->chars_most)
		h->chars_most = g->chars;
	string_holder_value(h, g->digest);
	if (g->listed)
		count_holder_of_value(&w->list[g->listed - 1], slot->holder - 1, copy);
	return wasted;
}

static void hold_one(struct work *w, const struct string_held *h)
{
	struct address_entry *e = &w->strings.items[h->string];
	struct string_slot *slot = string_holders_slot(&w->a->holders, h->type, h->offset);
	uint64_t wasted = e->key & ADDRESS_MARK_HELD ? 0 : assign_holder(w, e, slot, h->type, h->offset);
	if (wasted && string_paths_through(&w->a->snapshot->types[h->type]))
		string_paths_add(w->paths, slot->holder - 1, h->owner, wasted);
}

static void hold_by(struct work *w, struct heap_cursor *c)
{
	bool through = string_paths_through(&w->a->snapshot->types[c->object.type]), loose = through && string_loose_is(&w->loose, c->object.address);
	uint64_t offset, target;
	while (heap_cursor_edge(c, &offset, &target)) {
		struct string_slot *slot = string_holders_slot(&w->a->holders, c->object.type, offset);
		size_t at = address_list_find(&w->strings, target, &slot->finger);
		if (at == ADDRESS_NONE)
			continue;
		struct address_entry *e = &w->strings.items[at];
		if (e->key & ADDRESS_MARK_HELD || w->groups.items[e->number].count < 2)
			continue;
		const struct string_held held = {at, c->object.type, c->object.address, offset};
		if (!loose || !string_loose_defer(&w->loose, &held))
			hold_one(w, &held);
	}
}

static void describe_value(struct work *w, struct strings_value *v, const struct heap_string_record *r)
{
	v->classes = r->classes;
	if (!w->o->reveal)
		return;
	struct buf shown;
	buf_init(&shown, 1024);
	strings_value_start(r->units, r->revealed, &shown);
	free(v->start);
	v->start = buf_steal(&shown);
}

static void find_holders(struct work *w)
{
	struct heap_cursor c;
	struct heap_string_record r;
	size_t finger = 0;
	bool string;
	heap_snapshot_cursor(w->a->snapshot, &c);
	while (next_object(w, &c, &r, &string)) {
		if (!string) {
			hold_by(w, &c);
			continue;
		}
		size_t at = address_list_find(&w->strings, c.object.address, &finger); /* the next one, mostly: cheaper than the filter */
		if (at == ADDRESS_NONE || !(w->strings.items[at].key & ADDRESS_MARK_FIRST))
			continue;
		uint32_t listed = w->groups.items[w->strings.items[at].number].listed;
		if (listed)
			describe_value(w, &w->list[listed - 1], &r);
	}
}

/* What nothing refers to, after all others. */
static void hold_by_loose(struct work *w)
{
	for (size_t i = 0; i < w->loose.count; i++)
		hold_one(w, &w->loose.held[i]);
	w->loose.count = 0;
}

static void count_unheld(struct work *w)
{
	for (size_t i = 0; i < w->strings.count; i++) {
		const struct address_entry *e = &w->strings.items[i];
		const struct string_group *g = &w->groups.items[e->number];
		if (e->key & ADDRESS_MARK_HELD || g->count < 2)
			continue;
		bool copy = !(e->key & ADDRESS_MARK_FIRST);
		w->a->unheld.strings++;
		w->a->unheld.copies += copy;
		w->a->unheld.wasted_bytes += copy ? string_group_size(g) : 0;
		if (g->listed)
			w->list[g->listed - 1].unheld++;
	}
}

static void take_part(struct work *w)
{
	group_strings(w);
	choose_values(w);
	find_holders(w);
	hold_by_loose(w);
	count_unheld(w);
	strings_list_merge_take(&w->a->list, &w->a->list_count, w->list, w->list_count);
	w->list = NULL;
	string_groups_fini(&w->groups);
	address_list_fini(&w->strings);
	w->strings = (struct address_list){0};
	for (uint32_t t = 0; t < w->a->snapshot->type_count; t++)
		for (uint32_t i = 0; i < w->a->holders.slot_counts[t]; i++)
			w->a->holders.slots[t][i].finger = 0;
}

static int by_count(const void *a, const void *b)
{
	const struct strings_of_value *x = a, *y = b;
	return x->count != y->count ? (x->count > y->count ? -1 : 1) : (x->holder > y->holder) - (x->holder < y->holder);
}

/* What the listed values tell of their holders. */
static void join_values(struct strings_analysis *a)
{
	for (size_t i = 0; i < a->list_count; i++) {
		struct strings_value *v = &a->list[i];
		if (v->holder_count)
			qsort(v->holders, v->holder_count, sizeof *v->holders, by_count);
		for (size_t k = 0; k < v->holder_count; k++) {
			struct string_holder *h = &a->holders.items[v->holders[k].holder];
			uint64_t wasted = v->holders[k].copies * v->size_bytes;
			h->classes_all |= v->classes;
			if (h->value == STRING_NO_VALUE || wasted > h->value_wasted_bytes) {
				h->value = (uint32_t)i;
				h->value_wasted_bytes = wasted;
			}
		}
		struct string_remedy_facts f = {1, v->chars, v->classes, v->count, v->old_count};
		v->remedy = string_remedy_choose(&f);
	}
}

static int holder_by_wasted(const void *a, const void *b, void *holders)
{
	const struct string_holder *items = holders, *x = &items[*(const uint32_t *)a], *y = &items[*(const uint32_t *)b];
	if (x->wasted_bytes != y->wasted_bytes)
		return x->wasted_bytes > y->wasted_bytes ? -1 : 1;
	if (x->strings != y->strings)
		return x->strings > y->strings ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void finish_holders(struct strings_analysis *a)
{
	a->holder_order = mem_calloc(a->holders.count ? a->holders.count : 1, sizeof *a->holder_order);
	for (size_t i = 0; i < a->holders.count; i++) {
		struct string_holder *h = &a->holders.items[i];
		struct string_remedy_facts f = {h->many ? 0 : h->value_count, h->chars_most, h->classes_all, h->strings, h->old_strings};
		h->remedy = string_remedy_choose(&f);
		string_holder_name(h, a->snapshot);
		a->holder_order[i] = (uint32_t)i;
	}
	if (a->holders.count)
		qsort_r(a->holder_order, a->holders.count, sizeof *a->holder_order, holder_by_wasted, a->holders.items);
}

void strings_analysis_make(const struct heap_snapshot *s, const struct strings_options *o, struct strings_analysis *out)
{
	uint64_t part_strings = o->part_strings ? o->part_strings : STRINGS_PART;
	*out = (struct strings_analysis){.snapshot = s, .revealed = o->reveal};
	struct work w = {.a = out, .o = o, .paths = string_paths_new(s)};
	string_holders_init(&out->holders, s);
	string_filter_init(&w.filter, s->facts.objects);
	string_loose_init(&w.loose, s);
	count_all(&w);
	w.parts = (uint32_t)(w.filter.repeated * 2 / part_strings) + 1;
	for (w.part = 0; w.part < w.parts && w.filter.repeated; w.part++)
		take_part(&w);
	out->values = out->strings - out->copies;
	string_filter_fini(&w.filter);
	string_loose_fini(&w.loose);
	join_values(out);
	finish_holders(out);
	string_paths_find(w.paths, out->holders.items, out->holders.count);
	string_paths_free(w.paths);
}

void strings_analysis_fini(struct strings_analysis *a)
{
	for (size_t i = 0; i < a->list_count; i++)
		strings_value_fini(&a->list[i]);
	free(a->list);
	free(a->holder_order);
	if (a->snapshot)
		string_holders_fini(&a->holders);
	*a = (struct strings_analysis){0};
}
