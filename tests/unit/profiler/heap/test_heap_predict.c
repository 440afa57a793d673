#include "profiler/heap/heap_fields.h"
#include "profiler/heap/heap_predict.h"

#include <criterion/criterion.h>

Test(heap_predict, a_heap_that_was_counted_takes_its_objects_times_the_time_of_one)
{
	const struct heap_probe p = {.read_ns = 1000000, .read_objects = 50000, .objects = 1000000, .bytes = 40 << 20, .whole = true,
				     .heap_bytes = 1 << 30, .small_bytes = 1 << 30};
	struct heap_prediction out;

	heap_predict_from(&p, &out);
	cr_expect(out.walk_us >= 20000 && out.walk_us < 60000, "%zu", (size_t)out.walk_us);
	cr_expect_gt(out.collection_us, out.walk_us);
	cr_expect_eq(out.heap_bytes, 40 << 20);
}

Test(heap_predict, the_rest_is_taken_to_be_like_what_was_counted)
{
	struct heap_probe p = {.read_ns = 1000000, .read_objects = 50000, .objects = 1000000, .bytes = 40 << 20, .heap_bytes = 500 << 20,
			       .small_bytes = 400 << 20};
	struct heap_prediction part, whole;

	heap_predict_from(&p, &part);
	p.whole = true;
	heap_predict_from(&p, &whole);
	cr_expect(part.walk_us > whole.walk_us * 9 && part.walk_us < whole.walk_us * 11);
	p.whole = false;
	p.small_bytes = 1 << 20; /* less than was counted: the runtime's bounds are old */
	heap_predict_from(&p, &part);
	cr_expect_eq(part.walk_us, whole.walk_us);
}

Test(heap_predict, a_collection_goes_along_all_stacks)
{
	struct heap_probe p = {.read_ns = 1000000, .read_objects = 50000, .objects = 50000, .bytes = 4 << 20, .whole = true};
	struct heap_prediction none, deep;

	heap_predict_from(&p, &none);
	p.stacks_ns = 400000000;
	heap_predict_from(&p, &deep);
	cr_expect_eq(deep.collection_us, none.collection_us + 1600000);
	cr_expect(deep.stacks_us == 400000 && none.stacks_us == 0);
	cr_expect_eq(deep.walk_us, none.walk_us, "they are read as far as there is time");
}

Test(heap_predict, where_nothing_can_be_read_the_size_tells)
{
	const struct heap_probe p = {.heap_bytes = 100 << 20, .small_bytes = 100 << 20};
	struct heap_prediction out;

	heap_predict_from(&p, &out);
	cr_expect_eq(out.walk_us, 0);
	cr_expect(out.collection_us > 100000 && out.collection_us < 1000000);
}

Test(heap_fields, what_a_field_holds_by_its_signature)
{
	static const struct {
		const char *what;
		uint8_t sig[8];
		uint32_t len;
		enum heap_holds holds;
	} rows[] = {
		{"int", {6, 0x08}, 2, HEAP_HOLDS_NOTHING},
		{"string", {6, 0x0e}, 2, HEAP_HOLDS_REFERENCE},
		{"class", {6, 0x12, 0x49}, 3, HEAP_HOLDS_REFERENCE},
		{"value type", {6, 0x11, 0x49}, 3, HEAP_HOLDS_VALUE},
		{"List<int>", {6, 0x15, 0x12, 0x49, 1, 8}, 6, HEAP_HOLDS_REFERENCE},
		{"KeyValuePair<int, int>", {6, 0x15, 0x11, 0x49, 2, 8, 8}, 7, HEAP_HOLDS_VALUE},
		{"T", {6, 0x13, 0}, 3, HEAP_HOLDS_VALUE},
		{"int[]", {6, 0x1d, 8}, 3, HEAP_HOLDS_REFERENCE},
		{"volatile object", {6, 0x1f, 0x49, 0x1c}, 4, HEAP_HOLDS_REFERENCE},
		{"a modifier with a long token", {6, 0x20, 0x81, 0x49, 0x1c}, 5, HEAP_HOLDS_REFERENCE},
		{"int*", {6, 0x0f, 8}, 3, HEAP_HOLDS_NOTHING},
		{"nothing", {6}, 1, HEAP_HOLDS_NOTHING},
		{"a cut modifier", {6, 0x1f}, 2, HEAP_HOLDS_NOTHING},
		{"a cut generic", {6, 0x15}, 2, HEAP_HOLDS_NOTHING},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(heap_fields_hold(rows[i].sig, rows[i].len), rows[i].holds, "%s", rows[i].what);
}
