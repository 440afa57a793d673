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

#define MS 1000000u

Test(heap_predict, a_look_ends_by_its_processor_time_or_when_its_stop_must)
{
	static const struct {
		const char *what;
		uint64_t cpu_ms, wall_ms, objects;
		bool counting;
		enum heap_look_step next;
	} rows[] = {
		{"the beginning", 0, 0, 0, false, HEAP_LOOK_READ},
		{"put aside at once, for a period of its limit", 0, 90, 4096, false, HEAP_LOOK_READ},
		{"read for long enough", 2, 2, 40000, false, HEAP_LOOK_COUNT},
		{"read for long enough, and few objects", 2, 2, 8191, false, HEAP_LOOK_READ},
		{"and just enough", 2, 2, 8192, false, HEAP_LOOK_COUNT},
		{"large objects", 4, 4, 100, false, HEAP_LOOK_COUNT},
		{"counting", 7, 7, 1000000, true, HEAP_LOOK_COUNT},
		{"a counter does not read again", 0, 0, 5000, true, HEAP_LOOK_COUNT},
		{"its time is over", 8, 8, 1000000, true, HEAP_LOOK_END},
		{"waited, with little seen", 1, 124, 32767, false, HEAP_LOOK_READ},
		{"waited, with enough seen", 1, 16, 32768, true, HEAP_LOOK_END},
		{"waited a little", 1, 15, 32768, true, HEAP_LOOK_COUNT},
		{"its stop is as long as it may be", 1, 125, 5000, false, HEAP_LOOK_END},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct heap_look_progress p = {.look_ns = 8 * MS, .longest_ns = 125 * MS, .cpu_ns = rows[i].cpu_ms * MS,
						     .wall_ns = rows[i].wall_ms * MS, .objects = rows[i].objects, .counting = rows[i].counting};
		cr_expect_eq(heap_look_next(&p), rows[i].next, "%s: %d", rows[i].what, heap_look_next(&p));
	}
}

Test(heap_predict, what_is_asked_for_comes_whole_or_not_at_all)
{
	const struct heap_predict_request in = {500000, 62500};
	struct heap_predict_request out;
	uint8_t payload[16];
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	heap_put_predict_request(&w, &in);
	cr_assert(!w.bad && w.pos == sizeof payload);
	for (uint32_t len = 0; len <= sizeof payload; len++) {
		const struct channel_frame f = {.payload = payload, .len = len};
		cr_expect_eq(heap_get_predict_request(&f, &out), len == sizeof payload, "%u", len);
	}
	cr_expect(out.budget_us == in.budget_us && out.look_us == in.look_us);
}

Test(heap_predict, how_long_a_look_may_be)
{
	static const struct {
		struct heap_predict_request q;
		uint64_t look_ms, longest_ms;
	} rows[] = {
		{{500000, 0}, 8, 125}, {{500000, 62000}, 62, 125}, {{500000, 400000}, 250, 250}, {{10000, 0}, 5, 5},
		{{20000, 0}, 8, 8}, {{0, 0}, 8, 125}, {{0, 64000}, 64, 125}, {{UINT64_MAX, UINT64_MAX}, 1000, 900000},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_expect_eq(heap_look_ns(&rows[i].q), rows[i].look_ms * MS, "row %zu", i);
		cr_expect_eq(heap_look_longest_ns(&rows[i].q), rows[i].longest_ms * MS, "row %zu", i);
	}
}

/* The first objects come with the page faults of whatever is touched first: 4,096 of them in a millisecond say nothing of 400 MB. */
Test(heap_predict, a_look_that_was_kept_from_running_saw_nothing)
{
	struct heap_probe p = {.look_ns = 8 * MS, .read_ns = MS, .read_objects = 4096, .objects = 8192, .bytes = 400000, .heap_bytes = 400 << 20,
			       .small_bytes = 400 << 20};
	struct heap_prediction out;

	heap_predict_from(&p, &out);
	cr_expect(out.walk_us == 0 && out.objects == 0, "%zu us", (size_t)out.walk_us);
	p.whole = true;
	heap_predict_from(&p, &out);
	cr_expect_eq(out.objects, 8192, "a small heap");
	p.whole = false;
	p.read_ns = 2 * MS;
	heap_predict_from(&p, &out);
	cr_expect_gt(out.objects, 8192, "it has read for as long as it should: large objects");
	p.read_ns = MS;
	p.read_objects = 8192;
	heap_predict_from(&p, &out);
	cr_expect_gt(out.objects, 8192, "or enough of them");
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
