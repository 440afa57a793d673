/* A snapshot of a heap from any bytes, for fuzzers. */
#ifndef TESTS_FUZZ_HEAP_H
#define TESTS_FUZZ_HEAP_H

#include "agent/heap/heap_snapshot_private.h"
#include "agent/heap/heap_type_name.h"
#include "common/base/mem.h"
#include "tests/fuzz/fuzz_tools.h"

/* NULL: refused, as it may be. Every third root has the first name; methods without a function have none. */
static inline struct heap_snapshot *read_snapshot(const uint8_t *data, size_t size, bool strings, const char *third, const char *other)
{
	struct heap_store store;
	struct heap_scan scan;
	struct err e = ERR_INIT;

	heap_store_init(&store, -1, 1 << 24, 1 << 24);
	check(heap_store_append(&store, data, size, &e) == 0 && heap_store_seal(&store, &e) == 0);
	struct heap_snapshot *s = heap_snapshot_scan_take(&store, strings, &scan, &e);
	if (!s) {
		check(e.kind == ERR_PROTOCOL);
		return NULL;
	}
	s->roots = mem_calloc(scan.root_count + 1, sizeof *s->roots);
	for (size_t i = 0; i < scan.root_count; i++)
		s->roots[s->root_count++] = (struct heap_root){scan.roots[i].kind, scan.roots[i].flags, scan.roots[i].object,
							       scan.roots[i].second, i % 3 ? other : third};
	for (size_t i = 0; i < s->method_count; i++)
		heap_snapshot_name_method(&s->methods[i], i % 2 ? "Shop.Orders" : "System.Net.Http.HttpConnection",
					  s->methods[i].function_id ? "SendAsync" : "");
	heap_scan_fini(&scan);
	return s;
}

#endif
