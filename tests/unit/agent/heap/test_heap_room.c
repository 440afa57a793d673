#include "agent/heap/heap_room.h"

#include <criterion/criterion.h>

#define MB (INT64_C(1) << 20)
#define MILLION UINT64_C(1000000)

/* The figures of docs/decisions/heap-graph.md: what ended there is let through, what did not is not. */
Test(heap_room, what_is_missing)
{
	static const struct {
		const char *what;
		uint64_t objects;
		struct heap_room room;
		bool memory, files;
	} rows[] = {
		{"1 M, no limit", MILLION, {INT64_MAX, 0, 552 * MB, 256 * MB}, false, false},
		{"10 M, no limit", 10 * MILLION, {INT64_MAX, 0, 552 * MB, 256 * MB}, false, false},
		{"10 M, the chart's agent", 10 * MILLION, {580 * MB, 640 * MB, 534 * MB, 256 * MB}, false, false},
		{"10 M, 192 MB", 10 * MILLION, {134 * MB, 192 * MB, 134 * MB, 10000 * MB}, true, false},
		{"100 M, 2 GB", 100 * MILLION, {1990 * MB, 2048 * MB, 552 * MB, 100000 * MB}, false, false},
		{"100 M, 1 GB", 100 * MILLION, {970 * MB, 1024 * MB, 552 * MB, 100000 * MB}, true, false},
		{"100 M, the quota of the spool", 100 * MILLION, {INT64_MAX, 0, 552 * MB, 256 * MB}, false, true},
		{"10 M, a full disk", 10 * MILLION, {580 * MB, 640 * MB, 534 * MB, 1}, false, true},
		{"1 M, a full disk", MILLION, {580 * MB, 640 * MB, 534 * MB, 1}, false, false},
		{"nothing", 0, {0, 64 * MB, 32 * MB, 1}, false, false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t stream = heap_room_stream(rows[i].objects);
		struct heap_lack lack = heap_room_lack(&rows[i].room, stream, heap_room_graph(rows[i].objects, 0));
		cr_expect_eq(lack.limit_bytes != 0, rows[i].memory, "%s: %lld", rows[i].what, (long long)lack.limit_bytes);
		cr_expect_eq(lack.file_bytes != 0, rows[i].files, "%s: %lld", rows[i].what, (long long)lack.file_bytes);
	}
}

Test(heap_room, the_limit_that_is_named_would_do)
{
	struct heap_room room = {134 * MB, 192 * MB, 134 * MB, INT64_MAX};
	uint64_t graph = heap_room_graph(10 * MILLION, 20 * MILLION);
	struct heap_lack lack = heap_room_lack(&room, 0, graph);

	cr_assert_gt(lack.limit_bytes, room.limit_bytes);
	room.memory_bytes += lack.limit_bytes - room.limit_bytes;
	cr_expect_eq(heap_room_lack(&room, 0, graph).limit_bytes, 0);
	cr_expect_eq(heap_room_lack(&room, UINT64_MAX, UINT64_MAX).file_bytes, 0, "no overflow");
	cr_expect_eq(heap_room_lack(&room, 4000 * MILLION, 0).limit_bytes, 0, "a stream alone needs no memory");
}

Test(heap_room, here)
{
	struct heap_room room;

	heap_room_look(&room, -1, 1000);
	cr_expect(room.file_bytes <= 1000 && room.memory_bytes >= 0 && room.held_bytes > 0);
	heap_room_look(&room, -1, 0);
	cr_expect_geq(room.file_bytes, 0);
}
