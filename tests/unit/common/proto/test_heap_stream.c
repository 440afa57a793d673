#include "common/proto/heap_stream.h"

#include <criterion/criterion.h>
#include <string.h>

struct written {
	struct heap_writer w; /* first */
	uint8_t bytes[4096];
	unsigned blocks;
};

static bool one_block(struct heap_writer *w)
{
	struct written *x = (struct written *)w;

	if (x->blocks++)
		return false;
	w->at = x->bytes;
	w->limit = x->bytes + sizeof x->bytes - HEAP_PUT_MAX;
	return true;
}

static void begin(struct written *x)
{
	*x = (struct written){.w.more = one_block};
	one_block(&x->w);
}

static void put_object(struct heap_writer *w, uint32_t type, uint64_t address, uint64_t size, bool variable)
{
	cr_assert(heap_room(w));
	heap_put_object(w, type, address, size, variable);
}

static const struct heap_type_record node = {.index = 0, .class_id = 0x7f0012345678, .flags = HEAP_TYPE_REFERENCES, .base_size = 32};
static const struct heap_type_record array = {1, 0x7f0012345680, HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, 0};
static const struct heap_type_record string = {2, 0x7f0012345688, HEAP_TYPE_VARIABLE | HEAP_TYPE_STRING, 22, 0};
static const struct heap_shape shapes[] = {{HEAP_TYPE_REFERENCES, 32, 0},
					   {HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, 0},
					   {HEAP_TYPE_VARIABLE | HEAP_TYPE_STRING, 22, 0}};

/* A node that refers to itself and to an array below it, the array, a string with a digest. */
static size_t write_sample(struct written *x)
{
	const struct heap_root_record roots[] = {
		{.kind = HEAP_ROOT_STACK, .flags = HEAP_ROOT_INTERIOR, .id = 0x7f1234, .thread = 1, .object = 0x20008},
		{.kind = HEAP_ROOT_DEPENDENT, .id = 0x5000, .object = 0x10000, .second = 0x20000},
	};
	const struct heap_string_record text = {.length = 3, .digest = 0xfedcba9876543210, .classes = 5, .revealed = 3, .units = {'a', 0xd800, 0}};

	begin(x);
	cr_assert(heap_put_range(&x->w, &(struct heap_range_record){HEAP_GEN2, 1, 0x10000, 0x20000}));
	cr_assert(heap_put_thread(&x->w, &(struct heap_thread_record){0, 77, "worker"}));
	cr_assert(heap_put_static(&x->w, &(struct heap_static_record){0, 0x7f11, 0x7f22, 0x04000003, HEAP_ROOT_STATIC}));
	for (int i = 0; i < 2; i++)
		cr_assert(heap_put_root(&x->w, &roots[i]));
	cr_assert(heap_put_type(&x->w, &node) && heap_put_type(&x->w, &array) && heap_put_type(&x->w, &string));
	put_object(&x->w, 1, 0x10000, 40, true);
	heap_put_count(&x->w, 0);
	put_object(&x->w, 0, 0x20000, 32, false);
	heap_put_count(&x->w, 2);
	heap_put_edge(&x->w, 8, 0x20000, 0x20000);
	heap_put_edge(&x->w, 16, 0x20000, 0x10000);
	put_object(&x->w, 2, 0x20020, 28, true);
	cr_assert(heap_put_string(&x->w, &text));
	cr_assert(heap_put_end(&x->w, true, 0));
	return (size_t)(x->w.at - x->bytes);
}

Test(heap_stream, what_is_written_is_read)
{
	struct written x;
	struct heap_cursor c;
	struct heap_string_record text;
	uint64_t offset, target;

	heap_cursor_init(&c, x.bytes, write_sample(&x), shapes, 3, true);
	cr_assert_eq(heap_cursor_next(&c), HEAP_RANGE);
	cr_expect(c.range.generation == HEAP_GEN2 && c.range.heap == 1 && c.range.start == 0x10000 && c.range.length == 0x20000);
	cr_assert_eq(heap_cursor_next(&c), HEAP_THREAD);
	cr_expect(c.thread.index == 0 && c.thread.tid == 77);
	cr_expect_str_eq(c.thread.name, "worker");
	cr_assert_eq(heap_cursor_next(&c), HEAP_STATIC);
	cr_expect(c.field.slot == 0x7f11 && c.field.class_id == 0x7f22 && c.field.token == 0x04000003 && c.field.kind == HEAP_ROOT_STATIC);
	cr_assert_eq(heap_cursor_next(&c), HEAP_ROOT);
	cr_expect(c.root.kind == HEAP_ROOT_STACK && c.root.id == 0x7f1234 && c.root.thread == 1 && c.root.object == 0x20008);
	cr_assert_eq(heap_cursor_next(&c), HEAP_ROOT);
	cr_expect(c.root.kind == HEAP_ROOT_DEPENDENT && c.root.object == 0x10000 && c.root.second == 0x20000);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(heap_cursor_next(&c), HEAP_TYPE);
		cr_expect_eq(c.type.index, i);
	}
	cr_expect_eq(c.type.class_id, string.class_id);
	cr_assert_eq(heap_cursor_next(&c), HEAP_OBJECT);
	cr_expect(c.object.type == 1 && c.object.address == 0x10000 && c.object.size == 40 && c.object.references == 0);
	cr_assert_eq(heap_cursor_next(&c), HEAP_OBJECT);
	cr_expect(c.object.type == 0 && c.object.address == 0x20000 && c.object.size == 32 && c.object.references == 2);
	cr_assert(heap_cursor_edge(&c, &offset, &target));
	cr_expect(offset == 8 && target == 0x20000);
	cr_assert(heap_cursor_edge(&c, &offset, &target));
	cr_expect(offset == 24 && target == 0x10000);
	cr_expect_not(heap_cursor_edge(&c, &offset, &target));
	cr_assert_eq(heap_cursor_next(&c), HEAP_OBJECT);
	cr_expect(c.object.address == 0x20020 && c.object.size == 28);
	cr_assert(heap_cursor_string(&c, &text));
	cr_expect(text.length == 3 && text.digest == 0xfedcba9876543210 && text.classes == 5 && text.revealed == 3 && text.units[1] == 0xd800);
	cr_assert_eq(heap_cursor_next(&c), HEAP_END);
	cr_expect(c.last.complete && c.last.objects == 3 && c.last.edges == 2 && c.last.bytes == 100);
	cr_expect_eq(heap_cursor_next(&c), HEAP_MORE);
}

static enum heap_record last_of(const uint8_t *data, size_t len, bool *complete)
{
	struct heap_cursor c;
	enum heap_record kind;

	heap_cursor_init(&c, data, len, shapes, 3, true);
	do
		kind = heap_cursor_next(&c);
	while (kind != HEAP_END && kind != HEAP_BAD && kind != HEAP_MORE);
	*complete = kind == HEAP_END && c.last.complete;
	return kind;
}

Test(heap_stream, what_was_not_read_of_an_object_is_skipped)
{
	struct written x;
	size_t len = write_sample(&x);
	bool complete;

	cr_expect_eq(last_of(x.bytes, len, &complete), HEAP_END);
	cr_expect(complete);
}

Test(heap_stream, a_cut_stream_is_never_complete)
{
	struct written x;
	size_t len = write_sample(&x);
	bool complete;

	for (size_t n = 0; n < len; n++) {
		last_of(x.bytes, n, &complete);
		cr_expect_not(complete, "%zu bytes", n);
	}
}

Test(heap_stream, bytes_after_the_end_are_not_complete)
{
	struct written x;
	size_t len = write_sample(&x);
	bool complete;

	x.bytes[len] = 0;
	last_of(x.bytes, len + 1, &complete);
	cr_expect_not(complete);
}

Test(heap_stream, other_counts_than_those_read_are_not_complete)
{
	struct written x;
	bool complete;

	begin(&x);
	heap_put_type(&x.w, &node);
	put_object(&x.w, 0, 0x1000, 32, false);
	heap_put_count(&x.w, 0);
	x.w.objects++;
	heap_put_end(&x.w, true, 0);
	cr_expect_eq(last_of(x.bytes, (size_t)(x.w.at - x.bytes), &complete), HEAP_END);
	cr_expect_not(complete);
}

Test(heap_stream, what_cannot_be_is_bad)
{
	static const struct {
		const char *what;
		uint8_t bytes[16];
		size_t len;
	} rows[] = {
		{"a kind that there is not", {0, 9}, 2},
		{"a method's index past the last one", {0, 8, 0x80, 0x80, 1, 1}, 6},
		{"values that there are not", {0, 1, 3, 8, 0x40, 24, 0x80, 4}, 8},
		{"a type that did not come", {4, 0}, 2},
		{"a type's index past the next one", {0, 1, 4, 8, 0, 24}, 6},
		{"a type with another shape than the table's", {0, 1, 0, 8, 0, 24}, 6},
		{"a type with an unknown flag", {0, 1, 3, 8, 0x40, 24}, 6},
		{"a type of no size", {0, 1, 3, 8, 0, 7}, 6},
		{"a generation that there is not", {0, 2, 6, 0, 1, 1}, 6},
		{"a root's kind that there is not", {0, 3, 8, 0, 0, 0, 0}, 7},
		{"a root's flag that there is not", {0, 3, 1, 16, 0, 0, 0}, 7},
		{"more references than bytes", {1, 0, 3, 1, 0}, 5},
		{"an address below zero", {1, 1, 0}, 3},
		{"a slot outside of its object", {1, 2, 1, 4, 0}, 5},
		{"a varint without end", {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 11},
		{"a varint past 64 bits", {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}, 10},
	};
	bool complete;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(last_of(rows[i].bytes, rows[i].len, &complete), HEAP_BAD, "%s", rows[i].what);
}

Test(heap_stream, a_writer_without_room_stops_and_says_so)
{
	struct written x;
	unsigned put = 0;

	begin(&x);
	while (heap_put_type(&x.w, &node))
		put++;
	cr_expect(x.w.bad && put > 50);
	cr_expect_not(heap_room(&x.w));
	cr_expect_leq((size_t)(x.w.at - x.bytes), sizeof x.bytes);
}

Test(heap_stream, values_come_with_their_object)
{
	static const struct heap_type_record task = {.index = 0, .class_id = 0x7f0000000008, .flags = HEAP_TYPE_REFERENCES | HEAP_TYPE_VALUES, .base_size = 32,
						     .values = HEAP_VALUE_TASK | HEAP_VALUE_STATE};
	static const struct heap_shape shape = {HEAP_TYPE_REFERENCES | HEAP_TYPE_VALUES, 32, HEAP_VALUE_TASK | HEAP_VALUE_STATE};
	static const int32_t values[] = {0, 1, -1, INT32_MAX, INT32_MIN};
	struct written x;
	struct heap_cursor c;
	int32_t value;
	uint64_t offset, target;

	begin(&x);
	cr_assert(heap_put_type(&x.w, &task));
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		put_object(&x.w, 0, 0x10000 + 32 * i, 32, false);
		heap_put_value(&x.w, 0x2000400);
		heap_put_value(&x.w, values[i]);
		heap_put_count(&x.w, 1);
		heap_put_edge(&x.w, 8, 0x10000 + 32 * i, 0x20000);
	}
	cr_assert(heap_put_end(&x.w, true, 0));
	heap_cursor_init(&c, x.bytes, (size_t)(x.w.at - x.bytes), &shape, 1, false);
	cr_assert_eq(heap_cursor_next(&c), HEAP_TYPE);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		cr_assert_eq(heap_cursor_next(&c), HEAP_OBJECT);
		cr_assert(heap_cursor_value(&c, HEAP_VALUE_TASK, &value));
		cr_expect_eq(value, 0x2000400);
		cr_assert(heap_cursor_value(&c, HEAP_VALUE_STATE, &value));
		cr_expect_eq(value, values[i]);
		cr_expect_not(heap_cursor_value(&c, HEAP_VALUE_COUNT, &value));
		cr_assert(heap_cursor_edge(&c, &offset, &target));
		cr_expect_eq(target, 0x20000);
	}
	cr_assert_eq(heap_cursor_next(&c), HEAP_END);
	cr_expect(c.last.complete);
}

Test(heap_stream, methods_come_behind_the_objects_that_name_them)
{
	static const struct heap_type_record suspended = {.index = 0, .class_id = 0x7f0000000008, .flags = HEAP_TYPE_VALUES, .base_size = 40,
							  .values = HEAP_VALUE_STATE | HEAP_VALUE_METHOD};
	static const struct heap_shape shape = {HEAP_TYPE_VALUES, 40, HEAP_VALUE_STATE | HEAP_VALUE_METHOD};
	struct written x;
	struct heap_cursor c;
	int32_t state, method;

	begin(&x);
	cr_assert(heap_put_type(&x.w, &suspended));
	put_object(&x.w, 0, 0x10000, 40, false);
	heap_put_value(&x.w, 3);
	heap_put_value(&x.w, HEAP_METHODS_MAX);
	cr_assert(heap_put_method(&x.w, &(struct heap_method_record){HEAP_METHODS_MAX - 1, 0x7fffffffffffffff}));
	cr_assert(heap_put_end(&x.w, true, 0));
	heap_cursor_init(&c, x.bytes, (size_t)(x.w.at - x.bytes), &shape, 1, false);
	cr_assert_eq(heap_cursor_next(&c), HEAP_TYPE);
	cr_expect_eq(c.type.values, shape.values);
	cr_assert_eq(heap_cursor_next(&c), HEAP_OBJECT);
	cr_assert(heap_cursor_value(&c, HEAP_VALUE_STATE, &state) && heap_cursor_value(&c, HEAP_VALUE_METHOD, &method));
	cr_expect(state == 3 && method == HEAP_METHODS_MAX);
	cr_assert_eq(heap_cursor_next(&c), HEAP_METHOD);
	cr_expect(c.method.index == HEAP_METHODS_MAX - 1 && c.method.function_id == 0x7fffffffffffffff);
	cr_assert_eq(heap_cursor_next(&c), HEAP_END);
	cr_expect(c.last.complete);
}

Test(heap_stream, a_type_says_which_values_its_objects_have)
{
	const struct heap_type_record types[] = {
		{.class_id = 8, .flags = HEAP_TYPE_VALUES, .base_size = 24, .values = 0},
		{.class_id = 8, .flags = HEAP_TYPE_VALUES, .base_size = 24, .values = HEAP_VALUES_ALL},
	};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		struct written x;
		struct heap_cursor c;
		begin(&x);
		cr_assert(heap_put_type(&x.w, &types[i]));
		heap_cursor_init(&c, x.bytes, (size_t)(x.w.at - x.bytes), NULL, 0, false);
		cr_expect_eq(heap_cursor_next(&c), i == 1 ? HEAP_TYPE : HEAP_BAD, "type %zu", i);
	}
}
