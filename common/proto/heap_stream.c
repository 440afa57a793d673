#include "common/proto/heap_stream.h"

#include "common/proto/difference.h"

#define ALL_TYPE_FLAGS                                                                                                                  \
	(HEAP_TYPE_VARIABLE | HEAP_TYPE_REFERENCES | HEAP_TYPE_STRING | HEAP_TYPE_ARRAY | HEAP_TYPE_FREE | HEAP_TYPE_COLLECTIBLE | \
	 HEAP_TYPE_VALUES)
#define ALL_ROOT_FLAGS (HEAP_ROOT_PINNED | HEAP_ROOT_WEAK | HEAP_ROOT_INTERIOR | HEAP_ROOT_CONSERVATIVE)
#define COUNTED_MAX (UINT64_MAX >> 24) /* of one COUNT: the sums of all types in all generations do not overflow */
#define ADDRESS_MAX (UINT64_MAX >> 8) /* of user space on every machine, by far: sums of addresses and sizes do not overflow */

/* Writing --------------------------------------------------------------------------------------------------------------------- */
static void put_u8(struct heap_writer *w, uint8_t v)
{
	*w->at++ = v;
}

static void put_heap_le(struct heap_writer *w, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		put_u8(w, (uint8_t)(v >> (8 * i)));
}

static bool begin_heap_record(struct heap_writer *w, enum heap_record kind)
{
	if (!heap_room(w))
		return false;
	put_u8(w, 0);
	put_u8(w, (uint8_t)kind);
	return true;
}

bool heap_put_type(struct heap_writer *w, const struct heap_type_record *r)
{
	if (!begin_heap_record(w, HEAP_TYPE))
		return false;
	heap_varint(w, r->index);
	heap_varint(w, r->class_id);
	put_u8(w, r->flags);
	heap_varint(w, r->base_size);
	if (r->flags & HEAP_TYPE_VALUES)
		heap_varint(w, r->values);
	return true;
}

bool heap_put_range(struct heap_writer *w, const struct heap_range_record *r)
{
	if (!begin_heap_record(w, HEAP_RANGE))
		return false;
	put_u8(w, r->generation);
	put_u8(w, r->heap);
	heap_varint(w, r->start / 8);
	heap_varint(w, (r->length + 7) / 8);
	return true;
}

bool heap_put_root(struct heap_writer *w, const struct heap_root_record *r)
{
	if (!begin_heap_record(w, HEAP_ROOT))
		return false;
	put_u8(w, r->kind);
	put_u8(w, r->flags);
	heap_varint(w, r->id);
	heap_varint(w, r->thread);
	heap_varint(w, r->object / 8);
	if (r->kind != HEAP_ROOT_DEPENDENT)
		return true;
	if (!heap_room(w))
		return false;
	heap_varint(w, r->second / 8);
	return true;
}

bool heap_put_static(struct heap_writer *w, const struct heap_static_record *r)
{
	if (!begin_heap_record(w, HEAP_STATIC))
		return false;
	heap_varint(w, r->index);
	heap_varint(w, r->slot);
	heap_varint(w, r->class_id);
	put_heap_le(w, r->token, 4);
	put_u8(w, r->kind);
	return true;
}

bool heap_put_thread(struct heap_writer *w, const struct heap_thread_record *r)
{
	if (!begin_heap_record(w, HEAP_THREAD))
		return false;
	uint8_t len = 0;
	while (len < HEAP_THREAD_NAME_MAX && r->name[len])
		len++;
	heap_varint(w, r->index);
	heap_varint(w, r->tid);
	put_u8(w, len);
	for (int i = 0; i < len; i++)
		put_u8(w, (uint8_t)r->name[i]);
	return true;
}

bool heap_put_method(struct heap_writer *w, const struct heap_method_record *r)
{
	if (!begin_heap_record(w, HEAP_METHOD))
		return false;
	heap_varint(w, r->index);
	heap_varint(w, r->function_id);
	return true;
}

bool heap_put_counted(struct heap_writer *w, const struct heap_count_record *r)
{
	if (!begin_heap_record(w, HEAP_COUNT))
		return false;
	heap_varint(w, r->type);
	put_u8(w, r->generation);
	heap_varint(w, r->objects);
	heap_varint(w, r->bytes);
	w->objects += r->objects;
	w->bytes += r->bytes;
	return true;
}

bool heap_put_end(struct heap_writer *w, bool complete, uint64_t collections)
{
	if (!begin_heap_record(w, HEAP_END))
		return false;
	heap_varint(w, w->objects);
	heap_varint(w, w->edges);
	heap_varint(w, w->bytes);
	if (!heap_room(w))
		return false;
	put_u8(w, complete);
	heap_varint(w, collections);
	return true;
}

bool heap_put_string(struct heap_writer *w, const struct heap_string_record *r)
{
	if (!heap_room(w))
		return false;
	heap_varint(w, r->length);
	put_heap_le(w, r->digest, 8);
	put_u8(w, r->classes);
	heap_varint(w, r->revealed);
	for (int i = 0; i < r->revealed; i++) {
		if (!heap_room(w))
			return false;
		put_heap_le(w, r->units[i], 2);
	}
	return true;
}

/* Reading --------------------------------------------------------------------------------------------------------------------- */
void heap_cursor_init(struct heap_cursor *c, const void *data, size_t len, const struct heap_shape *shapes, uint32_t shape_count,
		      bool strings)
{
	*c = (struct heap_cursor){.at = data, .end = (const uint8_t *)data + len, .shapes = shapes, .shape_count = shape_count,
				  .strings = strings};
}

static uint64_t mark_cursor_bad(struct heap_cursor *c)
{
	c->bad = true;
	return 0;
}

static uint64_t get_le(struct heap_cursor *c, int bytes)
{
	uint64_t v = 0;

	if (c->bad || c->end - c->at < bytes)
		return mark_cursor_bad(c);
	for (int i = 0; i < bytes; i++)
		v |= (uint64_t)c->at[i] << (8 * i);
	c->at += bytes;
	return v;
}

static uint64_t get_long_varint(struct heap_cursor *c)
{
	uint64_t v = 0;

	for (int shift = 0; c->at < c->end && shift < 64; shift += 7) {
		uint8_t b = *c->at++;
		if (shift == 63 && b > 1)
			break;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			return v;
	}
	return mark_cursor_bad(c);
}

static inline uint64_t get_varint(struct heap_cursor *c)
{
	return c->at < c->end && *c->at < 0x80 ? *c->at++ : get_long_varint(c);
}

/* A varint that must be at most `max`. */
static uint64_t get_up_to(struct heap_cursor *c, uint64_t max)
{
	uint64_t v = get_varint(c);

	return v <= max ? v : mark_cursor_bad(c);
}

static uint64_t get_address(struct heap_cursor *c)
{
	return get_up_to(c, ADDRESS_MAX / 8) * 8;
}

/* `from` in eights; a difference that leads out of the address space is bad. */
static WRAPS uint64_t get_difference(struct heap_cursor *c, uint64_t from)
{
	uint64_t z = get_varint(c);
	uint64_t v = from + (z >> 1 ^ (0 - (z & 1)));

	return v <= ADDRESS_MAX / 8 ? v : mark_cursor_bad(c);
}

static bool same_shape(const struct heap_shape *s, const struct heap_type_record *t)
{
	return s->flags == t->flags && s->base_size == t->base_size && s->values == t->values;
}

static void read_heap_type(struct heap_cursor *c)
{
	c->type = (struct heap_type_record){0};
	c->type.index = (uint32_t)get_up_to(c, HEAP_TYPES_MAX - 1);
	c->type.class_id = get_varint(c);
	c->type.flags = (uint8_t)get_le(c, 1);
	c->type.base_size = (uint32_t)get_up_to(c, UINT32_MAX / 2);
	if (c->type.flags & HEAP_TYPE_VALUES)
		c->type.values = (uint16_t)get_up_to(c, HEAP_VALUES_ALL);
	if (!c->type.values != !(c->type.flags & HEAP_TYPE_VALUES))
		mark_cursor_bad(c);
	/* An object without extent would let a few bytes stand for any number of them. */
	if (c->type.index > c->shape_count || (c->type.flags & ~ALL_TYPE_FLAGS) || c->type.base_size < 8)
		mark_cursor_bad(c);
	else if (c->type.index < c->shape_count && !same_shape(&c->shapes[c->type.index], &c->type))
		mark_cursor_bad(c);
}

static void read_range(struct heap_cursor *c)
{
	c->range = (struct heap_range_record){0};
	c->range.generation = (uint8_t)get_le(c, 1);
	c->range.heap = (uint8_t)get_le(c, 1);
	c->range.start = get_address(c);
	c->range.length = get_address(c);
	if (c->range.generation >= HEAP_GENERATIONS)
		mark_cursor_bad(c);
}

static void read_heap_root(struct heap_cursor *c)
{
	c->root = (struct heap_root_record){0};
	c->root.kind = (uint8_t)get_le(c, 1);
	c->root.flags = (uint8_t)get_le(c, 1);
	c->root.id = get_varint(c);
	c->root.thread = (uint32_t)get_up_to(c, HEAP_THREADS_MAX);
	c->root.object = get_address(c);
	if (c->root.kind == HEAP_ROOT_DEPENDENT)
		c->root.second = get_address(c);
	if (c->root.kind < HEAP_ROOT_STACK || c->root.kind > HEAP_ROOT_OTHER || (c->root.flags & ~ALL_ROOT_FLAGS))
		mark_cursor_bad(c);
}

static void read_static(struct heap_cursor *c)
{
	c->field = (struct heap_static_record){0};
	c->field.index = (uint32_t)get_up_to(c, HEAP_STATICS_MAX - 1);
	c->field.slot = get_varint(c);
	c->field.class_id = get_varint(c);
	c->field.token = (uint32_t)get_le(c, 4);
	c->field.kind = (uint8_t)get_le(c, 1);
	if (c->field.kind != HEAP_ROOT_STATIC && c->field.kind != HEAP_ROOT_THREAD_STATIC)
		mark_cursor_bad(c);
}

static void read_thread(struct heap_cursor *c)
{
	c->thread = (struct heap_thread_record){0};
	c->thread.index = (uint32_t)get_up_to(c, HEAP_THREADS_MAX - 1);
	c->thread.tid = (uint32_t)get_up_to(c, INT32_MAX);
	size_t len = get_up_to(c, HEAP_THREAD_NAME_MAX);
	for (size_t i = 0; i < len; i++)
		c->thread.name[i] = (char)get_le(c, 1);
}

static void read_method(struct heap_cursor *c)
{
	c->method = (struct heap_method_record){0};
	c->method.index = (uint32_t)get_up_to(c, HEAP_METHODS_MAX - 1);
	c->method.function_id = get_varint(c);
}

static void read_heap_count(struct heap_cursor *c)
{
	c->counted = (struct heap_count_record){0};
	c->counted.type = (uint32_t)get_up_to(c, HEAP_TYPES_MAX - 1);
	c->counted.generation = (uint8_t)get_le(c, 1);
	c->counted.objects = get_up_to(c, COUNTED_MAX);
	c->counted.bytes = get_up_to(c, COUNTED_MAX);
	if (c->counted.type >= c->shape_count || c->counted.generation >= HEAP_GENERATIONS || c->counted.bytes / 8 < c->counted.objects)
		mark_cursor_bad(c);
	c->objects += c->counted.objects;
	c->bytes += c->counted.bytes;
}

static void read_end(struct heap_cursor *c)
{
	struct heap_end_record r = {.objects = get_varint(c), .edges = get_varint(c), .bytes = get_varint(c)};

	r.complete = get_le(c, 1) == 1 && c->at < c->end;
	r.collections = get_varint(c);
	if (r.objects != c->objects || r.edges != c->edges || r.bytes != c->bytes || c->at != c->end)
		r.complete = false;
	c->last = r;
	c->end = c->at;
}

static WRAPS void read_values(struct heap_cursor *c)
{
	int32_t *to = c->value;

	for (uint16_t left = c->values; left; left &= (uint16_t)(left - 1)) {
		uint32_t z = (uint32_t)get_up_to(c, UINT32_MAX);
		*to++ = (int32_t)(z >> 1 ^ (0 - (z & 1)));
	}
}

bool heap_cursor_value(const struct heap_cursor *c, enum heap_value kind, int32_t *out)
{
	uint16_t below = (uint16_t)(c->values & difference((unsigned)kind, 1));
	size_t at = 0;

	for (; below; below &= (uint16_t)(below - 1))
		at++;
	if (!(c->values & (unsigned)kind))
		return false;
	*out = c->value[at];
	return true;
}

static void read_heap_object(struct heap_cursor *c, uint64_t type)
{
	struct heap_object_record o = {0};

	if (type >= c->shape_count) {
		mark_cursor_bad(c);
		return;
	}
	const struct heap_shape *shape = &c->shapes[type];
	o.type = (uint32_t)type;
	o.address = get_difference(c, c->last_end) * 8;
	o.size = shape->flags & HEAP_TYPE_VARIABLE ? get_up_to(c, ADDRESS_MAX) : shape->base_size;
	c->values = shape->values;
	if (c->values)
		read_values(c);
	if (shape->flags & HEAP_TYPE_REFERENCES)
		o.references = get_up_to(c, (uint64_t)(c->end - c->at) / 2); /* two bytes each, at least */
	if (o.size < 8 || o.size > difference(ADDRESS_MAX, o.address))
		mark_cursor_bad(c);
	c->last_end = o.address / 8 + (o.size + 7) / 8;
	c->objects++;
	c->bytes += o.size;
	c->edges += o.references;
	c->edges_left = o.references;
	c->slot = 0;
	c->string_left = c->strings && shape->flags & HEAP_TYPE_STRING;
	c->object = o;
}

bool heap_cursor_edge(struct heap_cursor *c, uint64_t *offset, uint64_t *target)
{
	if (c->edges_left == 0 || c->bad)
		return false;
	c->edges_left--;
	c->slot += get_up_to(c, ADDRESS_MAX / 8);
	*target = get_difference(c, c->object.address / 8) * 8;
	*offset = c->slot * 8;
	if (c->slot >= (c->object.size + 7) / 8)
		mark_cursor_bad(c);
	return !c->bad;
}

bool heap_cursor_string(struct heap_cursor *c, struct heap_string_record *out)
{
	uint64_t offset, target;

	*out = (struct heap_string_record){0};
	while (heap_cursor_edge(c, &offset, &target))
		;
	if (!c->string_left || c->bad)
		return false;
	c->string_left = false;
	out->length = get_up_to(c, UINT32_MAX);
	out->digest = get_le(c, 8);
	out->classes = (uint8_t)get_le(c, 1);
	out->revealed = (uint8_t)get_up_to(c, HEAP_REVEAL_MAX);
	for (int i = 0; i < out->revealed; i++)
		out->units[i] = (uint16_t)get_le(c, 2);
	return !c->bad;
}

static void read_control(struct heap_cursor *c, enum heap_record kind)
{
	switch ((int)kind) {
	case HEAP_TYPE:
		read_heap_type(c);
		break;
	case HEAP_RANGE:
		read_range(c);
		break;
	case HEAP_ROOT:
		read_heap_root(c);
		break;
	case HEAP_STATIC:
		read_static(c);
		break;
	case HEAP_END:
		read_end(c);
		break;
	case HEAP_THREAD:
		read_thread(c);
		break;
	case HEAP_METHOD:
		read_method(c);
		break;
	case HEAP_COUNT:
		read_heap_count(c);
		break;
	default:
		mark_cursor_bad(c);
	}
}

enum heap_record heap_cursor_next(struct heap_cursor *c)
{
	struct heap_string_record unread;
	enum heap_record kind = HEAP_OBJECT;

	if (c->edges_left || c->string_left)
		heap_cursor_string(c, &unread);
	if (c->bad)
		return HEAP_BAD;
	if (c->at == c->end)
		return HEAP_MORE;
	uint64_t head = get_varint(c);
	if (head > 0)
		read_heap_object(c, head - 1);
	else if (!c->bad)
		read_control(c, kind = (enum heap_record)get_le(c, 1));
	return c->bad ? HEAP_BAD : kind;
}
