/* The stream of a heap walk from a library that writes anything: whatever is read stays in its bounds, and only a whole stream becomes a
 * snapshot, which then reads the same again. First byte: whether strings carry digests. */
#include "agent/heap/heap_counts.h"
#include "agent/heap/heap_snapshot_private.h"
#include "tests/fuzz/fuzz_tools.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_objects(const struct heap_snapshot *s)
{
	struct heap_cursor c;
	struct heap_string_record string;
	int32_t method;
	uint64_t offset, target, objects = 0, edges = 0, bytes = 0;

	heap_snapshot_cursor(s, &c);
	for (; heap_snapshot_object(&c); objects++) {
		check(c.object.type < s->type_count && c.object.size >= 8 && c.object.address + c.object.size > c.object.address);
		check(heap_snapshot_generation(s, c.object.address) < HEAP_GENERATIONS);
		check(!heap_cursor_value(&c, HEAP_VALUE_METHOD, &method) || s->types[c.object.type].values & HEAP_VALUE_METHOD);
		bytes += c.object.size;
		for (; heap_cursor_edge(&c, &offset, &target); edges++)
			check(offset < c.object.size + 8 && heap_type_field(&s->types[c.object.type], offset) != NULL);
		if (heap_cursor_string(&c, &string))
			check(s->strings && string.revealed <= HEAP_REVEAL_MAX);
	}
	check(s->method_count <= HEAP_METHODS_MAX);
	check(objects == s->facts.objects && edges == s->facts.edges && bytes == s->facts.bytes);
}

static void check_counts(const struct heap_snapshot *s)
{
	uint64_t objects = 0, bytes = 0;

	check(s->counts->type_count == s->type_count && s->root_count == 0 && s->facts.edges == 0);
	for (uint32_t i = 0; i < s->type_count; i++)
		for (int g = 0; g < HEAP_GENERATIONS; g++) {
			objects += s->counts->of[i][g].objects;
			bytes += s->counts->of[i][g].bytes;
		}
	check(objects == s->facts.objects && bytes == s->facts.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heap_store store;
	struct heap_scan scan;
	struct err e = ERR_INIT;

	if (size == 0)
		return 0;
	heap_store_init(&store, -1, 1 << 20, 1 << 20);
	if (heap_store_append(&store, data + 1, size - 1, &e) < 0) {
		heap_store_fini(&store);
		return 0;
	}
	check(heap_store_seal(&store, &e) == 0);
	struct heap_snapshot *s = heap_snapshot_scan_take(&store, data[0] & 1, &scan, &e);
	check((s != NULL) == (e.kind == ERR_NONE));
	if (s) {
		if (s->counts) {
			check_counts(s);
		} else {
			check_objects(s);
			heap_counts_take(s);
			check(s->counts->type_count == s->type_count);
		}
		heap_scan_fini(&scan);
		heap_snapshot_free(s);
	}
	return 0;
}
