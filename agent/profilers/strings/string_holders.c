#include "agent/profilers/strings/string_holders.h"

#include "agent/symbols/method_name.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_MAX 4096            /* of a type; slots beyond are one */
#define ALL_SLOTS_MAX (1u << 22)  /* of all types: beyond, each type has one; the stream comes from the process */
#define NAME_BYTES 500 /* shown */

void string_holders_init(struct string_holders *h, const struct heap_snapshot *s)
{
	*h = (struct string_holders){.snapshot = s};
	h->slots = mem_calloc(s->type_count ? s->type_count : 1, sizeof *h->slots);
	h->slot_counts = mem_calloc(s->type_count ? s->type_count : 1, sizeof *h->slot_counts);
}

void string_holders_fini(struct string_holders *h)
{
	for (size_t i = 0; i < h->count; i++) {
		free(h->items[i].values);
		free(h->items[i].name);
		free(h->items[i].type_name);
		free(h->items[i].field);
		free(h->items[i].held_by);
	}
	for (uint32_t t = 0; h->slots && t < h->snapshot->type_count; t++)
		free(h->slots[t]);
	free(h->items);
	free(h->slots);
	free(h->slot_counts);
	*h = (struct string_holders){0};
}

uint64_t string_holders_offset(const struct heap_type *t, uint64_t offset)
{
	if (!(t->flags & HEAP_TYPE_ARRAY) || offset < t->elements_at)
		return offset;
	return t->element_size ? (offset - t->elements_at) % t->element_size : 0;
}

static uint32_t make_slots(struct string_holders *h, uint32_t type)
{
	const struct heap_type *t = &h->snapshot->types[type];
	uint64_t bytes = t->flags & HEAP_TYPE_ARRAY && t->element_size > t->base_size ? t->element_size : t->base_size;
	uint32_t count = (uint32_t)(bytes / 8 < SLOTS_MAX ? bytes / 8 : SLOTS_MAX) + 1;
	if (h->slot_total + count > ALL_SLOTS_MAX)
		count = 1;
	h->slot_total += count;
	h->slots[type] = mem_calloc(count, sizeof *h->slots[type]);
	return h->slot_counts[type] = count;
}

struct string_slot *string_holders_slot(struct string_holders *h, uint32_t type, uint64_t offset)
{
	uint32_t count = h->slot_counts[type] ? h->slot_counts[type] : make_slots(h, type);
	uint64_t at = string_holders_offset(&h->snapshot->types[type], offset) / 8;
	return &h->slots[type][at < count ? at : count - 1];
}

struct string_holder *string_holders_of(struct string_holders *h, struct string_slot *slot, uint32_t type, uint64_t offset)
{
	if (slot->holder)
		return &h->items[slot->holder - 1];
	if (h->count == STRING_HOLDERS_MAX)
		return NULL;
	GROW(h->items, h->count, h->cap);
	uint64_t at = string_holders_offset(&h->snapshot->types[type], offset);
	bool last = slot == &h->slots[type][h->slot_counts[type] - 1];
	h->items[h->count] = (struct string_holder){.type = type, .offset = last ? UINT32_MAX : (uint32_t)at, .value = STRING_NO_VALUE};
	slot->holder = (uint32_t)++h->count;
	return &h->items[h->count - 1];
}

void string_holder_value(struct string_holder *h, uint64_t digest)
{
	if (h->many)
		return;
	for (size_t i = h->value_count; i-- > 0;)
		if (h->values[i] == digest)
			return;
	if (h->value_count == STRING_HOLDER_VALUES) {
		h->many = true;
		return;
	}
	GROW(h->values, h->value_count, h->value_cap);
	h->values[h->value_count++] = digest;
}

static const char *holder_field_name(const struct heap_type *t, uint64_t offset)
{
	if (offset == UINT32_MAX)
		return "";
	return heap_type_field(t, t->flags & HEAP_TYPE_ARRAY ? string_holders_offset(t, offset) + t->elements_at : offset);
}

void string_holder_spell(const struct heap_type *t, const char *type_name, uint64_t offset, struct buf *out)
{
	const char *field = holder_field_name(t, offset);
	AUTO_BUF struct buf all;
	buf_init(&all, NAME_BYTES * 32);
	buf_printf(&all, "%s%s%s", type_name, *field && strncmp(field, "[]", 2) != 0 ? "." : "",
		   *field ? field + (strncmp(field, "[]", 2) == 0 ? 2 : 0) : ".(unknown field)");
	method_name_printable(buf_str(&all), NAME_BYTES, out);
}

void string_holder_name(struct string_holder *h, const struct heap_snapshot *s)
{
	const struct heap_type *t = &s->types[h->type];
	const char *field = h->offset == UINT32_MAX ? "" : heap_type_field(t, h->offset + (t->flags & HEAP_TYPE_ARRAY ? t->elements_at : 0));
	AUTO_BUF struct buf name;
	buf_init(&name, NAME_BYTES * 16);
	string_holder_spell(t, t->name, h->offset, &name);
	h->name = buf_steal(&name);
	method_name_printable(t->name, NAME_BYTES, &name);
	h->type_name = buf_steal(&name);
	if (strncmp(field, "[]", 2) == 0)
		field += field[2] == '.' ? 3 : 2;
	if (*field) {
		AUTO_BUF struct buf own;
		buf_init(&own, NAME_BYTES * 16);
		method_name_printable(field, NAME_BYTES, &own);
		h->field = buf_steal(&own);
	}
}
