/* A snapshot by hand: the stream is written as the library writes it, and read back as the agent reads it. */
#include "agent/heap/heap_snapshot_private.h"
#include "agent/heap/heap_type_name.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES 65536

struct builder_root {
	struct heap_root root;
	char *label;
};

struct heap_builder {
	struct heap_writer w; /* first: heap_writer.more finds the rest by it */
	struct heap_store store;
	bool strings;
	int32_t values[HEAP_VALUES_MAX];
	struct heap_type *types;
	size_t type_count, type_cap;
	struct heap_method *methods;
	size_t method_count, method_cap;
	struct builder_root *roots;
	size_t root_count, root_cap;
	uint8_t block[BLOCK_BYTES];
};

static bool flush_builder_block(struct heap_writer *w)
{
	struct heap_builder *b = (struct heap_builder *)w;

	if (w->at > b->block && heap_store_append(&b->store, b->block, (size_t)(w->at - b->block), NULL) < 0)
		_exit(1); /* no memory, no room: nothing that a test could go on with */
	w->at = b->block;
	w->limit = b->block + BLOCK_BYTES - HEAP_PUT_MAX;
	return true;
}

struct heap_builder *heap_builder_new(bool strings)
{
	struct heap_builder *b = mem_alloc(sizeof *b);

	heap_store_init(&b->store, -1, HEAP_SNAPSHOT_MEMORY, SIZE_MAX / 2);
	b->strings = strings;
	b->w.more = flush_builder_block;
	b->w.at = b->block;
	flush_builder_block(&b->w);
	return b;
}

/* "8 _items, 16 _owner" */
static void parse_fields(struct heap_type *t, const char *names)
{
	size_t cap = 0;

	while (names && *names) {
		char *rest;
		unsigned long offset = strtoul(names, &rest, 10);
		rest += strspn(rest, " ");
		size_t len = strcspn(rest, ",");
		GROW(t->fields, t->field_count, cap);
		t->fields[t->field_count++] = (struct heap_field){(uint32_t)offset, mem_strndup(rest, len)};
		names = rest + len;
		names += strspn(names, ", ");
	}
}

uint32_t heap_builder_type(struct heap_builder *b, const char *name, unsigned flags, uint32_t base_size, const char *names)
{
	uint32_t index = (uint32_t)b->type_count;
	const struct heap_type_record r = {.index = index, .class_id = 0x1000 + 8 * (uint64_t)index, .flags = (uint8_t)flags,
					   .base_size = base_size, .values = (uint16_t)(flags >> 8)};

	GROW(b->types, b->type_count, b->type_cap);
	struct heap_type *t = &b->types[b->type_count++];
	*t = (struct heap_type){.class_id = r.class_id, .flags = r.flags, .values = r.values, .base_size = base_size, .module = mem_strdup("Test.dll")};
	heap_type_set_name(t, name);
	free(t->name);
	t->name = mem_strdup(name);
	t->raw = mem_strdup(name);
	parse_fields(t, names);
	if (flags & HEAP_TYPE_ARRAY) {
		t->elements_at = 16;
		t->element_size = 8;
	}
	heap_put_type(&b->w, &r);
	return index;
}

void heap_builder_object(struct heap_builder *b, uint32_t type, uint64_t address, uint64_t size, const struct heap_edge *edges,
			 size_t edge_count)
{
	const struct heap_type *t = &b->types[type];
	uint64_t slot = 0;

	heap_room_for(&b->w, HEAP_PUT_MAX + HEAP_VALUES_MAX * HEAP_VALUE_BYTES_MAX);
	heap_put_object(&b->w, type, address, size ? size : t->base_size, t->flags & HEAP_TYPE_VARIABLE);
	const int32_t *value = b->values;
	for (uint16_t left = t->values; left; left &= (uint16_t)(left - 1))
		heap_put_value(&b->w, *value++);
	if (t->flags & HEAP_TYPE_REFERENCES)
		heap_put_count(&b->w, edge_count);
	for (size_t i = 0; t->flags & HEAP_TYPE_REFERENCES && i < edge_count && heap_room(&b->w); i++) {
		heap_put_edge(&b->w, edges[i].offset - slot, address, edges[i].target);
		slot = edges[i].offset;
	}
}

void heap_builder_values(struct heap_builder *b, const int32_t *values)
{
	memcpy(b->values, values, sizeof b->values);
}

void heap_builder_string(struct heap_builder *b, const struct heap_string_record *r)
{
	heap_put_string(&b->w, r);
}

int32_t heap_builder_method(struct heap_builder *b, const char *type, const char *method)
{
	GROW(b->methods, b->method_count, b->method_cap);
	struct heap_method *m = &b->methods[b->method_count++];
	*m = (struct heap_method){.function_id = type ? 0x8000 + 8 * (uint64_t)b->method_count : 0};
	heap_snapshot_name_method(m, type ? type : "", type ? method : "");
	return (int32_t)b->method_count;
}

void heap_builder_range(struct heap_builder *b, enum heap_generation g, uint64_t start, uint64_t length)
{
	const struct heap_range_record r = {.generation = (uint8_t)g, .start = start, .length = length};

	heap_put_range(&b->w, &r);
}

void heap_builder_counted(struct heap_builder *b, uint32_t type, enum heap_generation g, uint64_t objects, uint64_t bytes)
{
	const struct heap_count_record r = {.type = type, .generation = (uint8_t)g, .objects = objects, .bytes = bytes};

	heap_put_counted(&b->w, &r);
}

void heap_builder_root(struct heap_builder *b, enum heap_root_kind kind, unsigned flags, uint64_t object, uint64_t second, const char *label)
{
	const struct heap_root_record r = {.kind = (uint8_t)kind, .flags = (uint8_t)flags, .object = object, .second = second};

	heap_put_root(&b->w, &r);
	GROW(b->roots, b->root_count, b->root_cap);
	b->roots[b->root_count++] = (struct builder_root){{kind, flags, object, second, NULL}, mem_strdup(label)};
}

static void give_types(struct heap_builder *b, struct heap_snapshot *s)
{
	for (uint32_t i = 0; i < s->type_count; i++)
		s->types[i] = b->types[i];
	free(b->types);
}

/* They come behind all objects. */
static void put_methods(struct heap_builder *b)
{
	for (size_t i = 0; i < b->method_count; i++)
		heap_put_method(&b->w, &(struct heap_method_record){(uint32_t)i, b->methods[i].function_id});
}

static void give_methods(struct heap_builder *b, struct heap_snapshot *s)
{
	for (size_t i = 0; i < s->method_count; i++)
		s->methods[i] = b->methods[i];
	free(b->methods);
}

static void give_roots(struct heap_builder *b, struct heap_snapshot *s)
{
	s->roots = mem_calloc(b->root_count + 1, sizeof *s->roots);
	for (size_t i = 0; i < b->root_count; i++) {
		s->roots[i] = b->roots[i].root;
		s->roots[i].label = heap_snapshot_label_take(s, b->roots[i].label);
	}
	s->root_count = b->root_count;
	free(b->roots);
}

struct heap_snapshot *heap_builder_finish_take(struct heap_builder *b)
{
	struct heap_scan scan = {0};
	struct err e = ERR_INIT;

	put_methods(b);
	heap_put_end(&b->w, !b->w.bad, 0);
	flush_builder_block(&b->w);
	struct heap_snapshot *s = heap_store_seal(&b->store, &e) < 0 ? NULL : heap_snapshot_scan_take(&b->store, b->strings, &scan, &e);
	if (!s && e.code)
		_exit(1); /* of the system */
	if (!s)
		abort(); /* a mistake in a test: objects out of order, offsets out of their objects */
	heap_scan_fini(&scan);
	give_types(b, s);
	give_methods(b, s);
	give_roots(b, s);
	free(b);
	return s;
}
