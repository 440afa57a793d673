#include "agent/heap/heap_counts.h"
#include "agent/heap/heap_snapshot_private.h"
#include "common/api/reason.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* 3 orders (one of them young), a large array, a gap. */
static struct heap_builder *shop(uint32_t *order, uint32_t *array)
{
	struct heap_builder *b = heap_builder_new(false);

	*order = heap_builder_type(b, "Shop.Order", HEAP_TYPE_REFERENCES, 32, "8 _next");
	*array = heap_builder_type(b, "string", HEAP_TYPE_VARIABLE | HEAP_TYPE_STRING, 22, NULL);
	heap_builder_range(b, HEAP_GEN2, 0x100000, 0x1000);
	heap_builder_range(b, HEAP_GEN0, 0x200000, 0x1000);
	heap_builder_range(b, HEAP_GEN_LOH, 0x300000, 100000);
	return b;
}

static struct heap_snapshot *counted(void)
{
	uint32_t order, array;
	struct heap_builder *b = shop(&order, &array);

	heap_builder_counted(b, order, HEAP_GEN2, 2, 64);
	heap_builder_counted(b, order, HEAP_GEN0, 1, 32);
	heap_builder_counted(b, array, HEAP_GEN_LOH, 1, 99992);
	return heap_builder_finish_take(b);
}

static struct heap_snapshot *walked(void)
{
	uint32_t order, array;
	struct heap_builder *b = shop(&order, &array);
	uint32_t gap = heap_builder_type(b, "Free", HEAP_TYPE_VARIABLE | HEAP_TYPE_FREE, 24, NULL);

	heap_builder_object(b, order, 0x100000, 0, NULL, 0);
	heap_builder_object(b, gap, 0x100020, 64, NULL, 0);
	heap_builder_object(b, order, 0x100060, 0, NULL, 0);
	heap_builder_object(b, order, 0x200000, 0, NULL, 0);
	heap_builder_object(b, array, 0x300000, 99990, NULL, 0);
	heap_builder_root(b, HEAP_ROOT_STATIC, 0, 0x100000, 0, "static A");
	return heap_builder_finish_take(b);
}

static void check(const struct heap_snapshot *s, uint64_t gap)
{
	struct heap_groups groups;
	struct heap_total totals[4];
	struct heap_space spaces[HEAP_GENERATIONS];

	cr_assert_not_null(s->counts);
	cr_expect_eq(s->facts.way, HEAP_WAY_TYPES);
	heap_groups_by_type(&groups, s);
	heap_counts_totals(s, &groups, totals);
	cr_expect(totals[0].count == 3 && totals[0].bytes == 96 && totals[0].generation_bytes[HEAP_GEN2] == 64);
	cr_expect(totals[1].count == 1 && totals[1].bytes == 99992 && totals[1].generation_bytes[HEAP_GEN_LOH] == 99992);
	cr_expect(totals[0].retained == 0 && totals[0].dead_count == 0);
	heap_groups_fini(&groups);
	heap_counts_spaces(s, spaces);
	cr_expect(spaces[HEAP_GEN2].count == 2 && spaces[HEAP_GEN2].bytes == 64 && spaces[HEAP_GEN2].range_bytes == 0x1000);
	cr_expect(spaces[HEAP_GEN_LOH].strings_count == 1 && spaces[HEAP_GEN_LOH].strings_bytes == 99992);
	cr_expect(spaces[HEAP_GEN2].free_bytes == gap && spaces[HEAP_GEN2].largest_free_bytes == gap);
}

Test(heap_counts, of_a_types_only_walk)
{
	struct heap_snapshot *s = counted();

	cr_expect(s->facts.objects == 4 && s->facts.bytes == 96 + 99992 && s->facts.edges == 0 && s->root_count == 0);
	check(s, 0);
	heap_snapshot_free(s);
}

Test(heap_counts, of_a_whole_walk_whose_objects_are_forgotten)
{
	struct heap_snapshot *s = walked();
	struct heap_cursor c;

	heap_counts_take(s);
	check(s, 64);
	heap_snapshot_cursor(s, &c);
	cr_expect(!heap_snapshot_object(&c) && s->root_count == 0 && s->stream_bytes == 0);
	heap_snapshot_free(s);
}

Test(heap_counts, types_are_added_one_by_one)
{
	struct heap_counts *c = calloc(1, sizeof *c);

	for (uint32_t i = 0; i < 1000; i++) {
		heap_counts_add_type(c);
		c->of[i][0].objects = i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		cr_assert(c->of[i][0].objects == i && c->of[i][5].bytes == 0);
	heap_counts_free(c);
	heap_counts_free(NULL);
}

/* The records of a stream as bytes: a type, then what the row says, then an end with these sums. */
static const char *read_stream(const struct heap_count_record *counts, size_t count, bool object, uint64_t objects, uint64_t bytes)
{
	static struct err e;
	static uint8_t data[512];
	struct heap_writer w = {.at = data, .limit = data + sizeof data - HEAP_PUT_MAX};
	const struct heap_type_record type = {.class_id = 8, .base_size = 24};
	struct heap_store store;
	struct heap_scan scan;

	heap_put_type(&w, &type);
	for (size_t i = 0; i < count; i++)
		heap_put_counted(&w, &counts[i]);
	if (object)
		heap_put_object(&w, 0, 0x1000, 24, false);
	w.objects = objects;
	w.bytes = bytes;
	heap_put_end(&w, true, 0);
	e = (struct err)ERR_INIT;
	heap_store_init(&store, -1, 4096, 4096);
	heap_store_append(&store, data, (size_t)(w.at - data), NULL);
	heap_store_seal(&store, NULL);
	struct heap_snapshot *s = heap_snapshot_scan_take(&store, false, &scan, &e);
	if (s)
		heap_scan_fini(&scan);
	heap_snapshot_free(s);
	return s ? "" : e.message;
}

Test(heap_counts, streams_that_are_refused)
{
	static const struct {
		const char *what;
		struct heap_count_record r;
		bool object;
		uint64_t objects, bytes;
		const char *said;
	} rows[] = {
		{"sound", {0, HEAP_GEN2, 2, 48}, false, 2, 48, ""},
		{"an unknown type", {1, HEAP_GEN2, 2, 48}, false, 2, 48, "malformed"},
		{"an unknown generation", {0, HEAP_GENERATIONS, 2, 48}, false, 2, 48, "malformed"},
		{"objects without extent", {0, HEAP_GEN2, 7, 48}, false, 7, 48, "malformed"},
		{"as many as that", {0, HEAP_GEN2, 6, 48}, false, 6, 48, ""},
		{"too many", {0, HEAP_GEN2, UINT64_MAX / 2, UINT64_MAX / 2}, false, 0, 0, "malformed"},
		{"sums that differ", {0, HEAP_GEN2, 2, 48}, false, 3, 48, "come to its end"},
		{"objects and counts", {0, HEAP_GEN2, 2, 48}, true, 3, 72, "both objects and counts"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *said = read_stream(&rows[i].r, 1, rows[i].object, rows[i].objects, rows[i].bytes);
		cr_expect(rows[i].said[0] ? strstr(said, rows[i].said) != NULL : !said[0], "%s: %s", rows[i].what, said);
	}
}

Test(heap_counts, what_would_show_the_holders_is_said)
{
	static const struct {
		struct heap_needs needs;
		const char *said;
	} rows[] = {
		{{0, 0, 0}, "What retains them is unknown: objects were only counted by type (because)"},
		{{1126, 0, 0}, "(because): holders need pauseBudgetMilliseconds: 1126"},
		{{0, 900 << 20, 0}, "(because): holders need a memory limit of 901 Mi for the agent"},
		{{20, 900 << 20, 0}, "pauseBudgetMilliseconds: 20 and a memory limit of 901 Mi for the agent"},
		{{0, 0, 300000000}, "(because): holders need 300 MB of disk and quota for the agent's spool"},
		{{0, 1 << 20, 300000000}, " a memory limit of 2 Mi for the agent and 300 MB of disk"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_BUF struct buf line;
		buf_init(&line, 1000);
		heap_counts_put_needs(&rows[i].needs, "because", &line);
		cr_expect_not_null(strstr(buf_str(&line), rows[i].said), "%s", buf_str(&line));
	}
}
