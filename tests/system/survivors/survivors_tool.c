/* Writes reports of made-up heaps: `survivors-tool shop|counted|hostile|many DIR [MILLIONS]`. shop: a web shop with caches, sessions, a leak
 * by events and buffers; counted: the same, of types only and in part; hostile: names that try to break out of the files; many: as many
 * objects as said (1), in an array of records, for its time and memory. Prints what it took as JSON. */
#include "agent/heap/heap_counts.h"
#include "agent/profilers/survivors/survivors_report.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define START UINT64_C(0x7f0000000000)
#define LARGE UINT64_C(0x7f4000000000)
#define PINNED UINT64_C(0x7f5000000000)

struct made {
	struct heap_builder *b;
	uint64_t at;
};

static uint32_t add_type(struct made *m, const char *name, uint32_t size, const char *fields)
{
	bool array = strstr(name, "[]") != NULL, variable = array || size == 0;
	unsigned flags = (variable ? HEAP_TYPE_VARIABLE : 0) | (array ? HEAP_TYPE_ARRAY : 0) | (fields ? HEAP_TYPE_REFERENCES : 0) |
			 (strcmp(name, "Free") == 0 ? HEAP_TYPE_FREE : 0);
	return heap_builder_type(m->b, name, flags, size ? size : 24, fields);
}

/* References come by the objects' addresses, which are known before the objects are written. */
static uint64_t put(struct made *m, uint32_t type, uint64_t size, const struct heap_edge *edges, size_t count)
{
	uint64_t at = m->at;
	heap_builder_object(m->b, type, at, size, edges, count);
	m->at += (size + 7) / 8 * 8;
	return at;
}

/* shop -------------------------------------------------------------------------------------------------------------- */

/* `count` objects of `size` bytes, each with a string of its own, and the array (of `array` type) that holds them; its address. */
static uint64_t put_records(struct made *m, uint32_t array, uint32_t stride, uint32_t type, uint32_t size, uint32_t text, uint32_t text_size,
			    uint32_t count)
{
	struct heap_edge *edges = mem_calloc(count + 1, sizeof *edges);
	uint64_t array_at = m->at, first = m->at + 24 + (uint64_t)stride * count;
	for (uint32_t i = 0; i < count; i++)
		edges[i] = (struct heap_edge){16 + stride * i, first + (uint64_t)(size + text_size) * i};
	put(m, array, 24 + (uint64_t)stride * count, edges, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct heap_edge to = {8, m->at + size};
		put(m, type, size, &to, text_size != 0);
		if (text_size)
			put(m, text, text_size, NULL, 0);
	}
	free(edges);
	return array_at;
}

static void make_shop(struct made *m)
{
	uint32_t dictionary = add_type(m, "System.Collections.Generic.Dictionary<int, Shop.Order>", 80, "8 _buckets, 16 _entries"),
		 entry = add_type(m, "System.Collections.Generic.Dictionary<int, Shop.Order>.Entry[]", 0, "0 [].value"),
		 order = add_type(m, "Shop.Order", 48, "8 Customer, 16 Lines"), text = add_type(m, "string", 0, NULL),
		 feed = add_type(m, "Shop.PriceFeed", 24, "8 Changed"), handler = add_type(m, "System.EventHandler", 64, "8 _target, 16 _invocationList"),
		 objects = add_type(m, "object[]", 0, ""), widget = add_type(m, "Shop.Ui.Widget", 40, "8 pixels"),
		 bytes = add_type(m, "byte[]", 0, NULL), list = add_type(m, "System.Collections.Generic.List<Shop.Session>", 32, "8 _items"),
		 sessions = add_type(m, "Shop.Session[]", 0, ""), session = add_type(m, "Shop.Session", 56, "8 User"),
		 gap = add_type(m, "Free", 0, NULL), state = add_type(m, "Shop.Import.RunAsync", 96, "8 batch");

	uint64_t cache = m->at;
	const struct heap_edge entries = {16, m->at + 80};
	put(m, dictionary, 80, &entries, 1);
	put_records(m, entry, 24, order, 48, text, 56, 120000);

	uint64_t source = m->at;
	const struct heap_edge changed = {8, source + 24}, invocations = {16, source + 24 + 64};
	put(m, feed, 24, &changed, 1);
	put(m, handler, 64, &invocations, 1);
	put_records(m, objects, 8, widget, 40, bytes, 424, 9000);
	put(m, gap, 3000000, NULL, 0);

	uint64_t users = m->at;
	const struct heap_edge items = {8, users + 32};
	put(m, list, 32, &items, 1);
	uint64_t session_array = put_records(m, sessions, 8, session, 56, text, 40, 4000);
	uint64_t batch = m->at;
	const struct heap_edge rest = {8, batch + 96};
	put(m, state, 96, &rest, 1);
	put(m, bytes, 1200000, NULL, 0);
	put(m, text, 700000, NULL, 0);
	heap_builder_range(m->b, HEAP_GEN2, START, m->at - START);
	m->at = LARGE;
	uint64_t large = put(m, bytes, 6000000, NULL, 0);
	put(m, gap, 1000000, NULL, 0);
	put(m, bytes, 900000, NULL, 0);
	heap_builder_range(m->b, HEAP_GEN_LOH, LARGE, m->at - LARGE);
	m->at = PINNED;
	for (int i = 0; i < 40; i++)
		heap_builder_root(m->b, HEAP_ROOT_HANDLE, HEAP_ROOT_PINNED, put(m, bytes, 4120, NULL, 0), 0, "handle (pinned)");
	heap_builder_range(m->b, HEAP_GEN_POH, PINNED, m->at - PINNED);
	heap_builder_root(m->b, HEAP_ROOT_STATIC, 0, cache, 0, "static Shop.Cache._items");
	heap_builder_root(m->b, HEAP_ROOT_STACK, 0, cache, 0, "stack of Shop.Cart.Total (thread 12 worker)");
	heap_builder_root(m->b, HEAP_ROOT_STATIC, 0, source, 0, "static Shop.PriceFeed.Instance");
	heap_builder_root(m->b, HEAP_ROOT_STATIC, 0, users, 0, "static Shop.Sessions._all");
	heap_builder_root(m->b, HEAP_ROOT_THREAD_STATIC, 0, session_array, 0, "thread static Shop.Sessions._mine");
	heap_builder_root(m->b, HEAP_ROOT_STACK, 0, batch, 0, "stack of Shop.Import.RunAsync (thread 31 .NET TP Worker)");
	heap_builder_root(m->b, HEAP_ROOT_FINALIZER, 0, large, 0, "finalizer queue");
}

/* hostile ----------------------------------------------------------------------------------------------------------- */

static void make_hostile(struct made *m)
{
	static const char *const texts[] = {
		"</script><script>document.title='owned'</script>", "<img src=x onerror=document.title='owned'>", "\"]}],\"a\":[", "a;b;c 5",
		"line\nbreak\r\ttab", "\x1b[31mred\x07", "\xe2\x80\xae" "right to left", "\xff\xfe bytes", "<!--", "]]>", "{{data}}", "`code` | *bold* [x](y)",
		"${x}", "\\", "'", "\"", "&lt;", "%s%n", "__proto__", "constructor",
	};
	enum { COUNT = sizeof texts / sizeof texts[0] };
	AUTO_FREE char *longest = mem_alloc(20001);
	memset(longest, 'x', 20000);
	uint32_t types[COUNT + 1];
	for (uint32_t i = 0; i <= COUNT; i++) {
		char fields[200];
		snprintf(fields, sizeof fields, "8 %s", i < COUNT && !strchr(texts[i], ',') ? texts[i] : "f");
		types[i] = add_type(m, i < COUNT ? texts[i] : longest, 24, fields);
	}
	for (uint32_t i = 0; i < COUNT; i++) {
		uint64_t at = m->at;
		for (uint32_t k = i; k <= COUNT; k++) {
			const struct heap_edge next = {8, m->at + 24};
			put(m, types[k], 24, &next, k < COUNT);
		}
		heap_builder_root(m->b, i % 2 ? HEAP_ROOT_STATIC : HEAP_ROOT_STACK, 0, at, 0, texts[i]);
	}
	for (uint32_t i = 0; i < 100000; i++) /* to be more than a small heap */
		put(m, types[0], 24, NULL, 0);
	heap_builder_range(m->b, HEAP_GEN2, START, m->at - START);
	heap_builder_root(m->b, HEAP_ROOT_HANDLE, 0, START, 0, longest);
}

/* many -------------------------------------------------------------------------------------------------------------- */

static void make_many(struct made *m, uint32_t millions)
{
	uint32_t array = add_type(m, "Shop.Order[]", 0, ""), order = add_type(m, "Shop.Order", 40, "8 Customer"), text = add_type(m, "string", 0, NULL);
	uint64_t at = put_records(m, array, 8, order, 40, text, 48, millions * 500000);
	heap_builder_range(m->b, HEAP_GEN2, START, m->at - START);
	heap_builder_root(m->b, HEAP_ROOT_STATIC, 0, at, 0, "static Shop.Orders.All");
}

/* ------------------------------------------------------------------------------------------------------------------ */

static long peak_kb(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

static int write_report(const struct heap_snapshot *s, int dirfd)
{
	const struct session_spec spec = {.profiler = PROFILER_GC_SURVIVORS};
	const struct report_context context = {"heap", "shop", "uid", "checkout-1", "app", "node-1", NULL};
	struct session_facts facts = {.pid = 7, .started_wall_ms = 1795251032000, .duration_ns = 900000000};
	facts.cost = (struct session_cost){.max_pause_us = 12345, .max_wait_us = 678, .added_cpu_ms = 40, .agent_cpu_ms = 200};
	facts.target.entrypoint = (char *)"Checkout";
	facts.target.runtime_version = (char *)"10.0.0";
	facts.target.arch = (char *)"x64";
	struct report_result result;
	struct err e = ERR_INIT;
	long before_kb = peak_kb();
	int64_t start_ms = clock_mono_ms();
	if (survivors_report_write(s, start_ms, &facts, &spec, &context, dirfd, &result, &e) < 0) {
		fprintf(stderr, "survivors_tool: %s\n", e.message);
		return 1;
	}
	printf("{\"ms\":%lld,\"memory_kb\":%ld,\"objects\":%llu", (long long)(clock_mono_ms() - start_ms), peak_kb() - before_kb,
	       (unsigned long long)s->facts.objects);
	for (size_t i = 0; i < result.report_count; i++)
		printf(",\"%s\":%lld", result.reports[i].name, (long long)result.reports[i].size_bytes);
	printf("}\n");
	report_result_fini(&result);
	return 0;
}

static void forget_holders(struct heap_snapshot *s)
{
	heap_counts_take(s);
	s->facts.why = "the walk that shows holders would stop for longer than the pause budget";
	s->facts.part = true;
	s->facts.heap_most_bytes = 100000000;
	s->facts.whole_budget_ms = 800;
	s->facts.needs.budget_ms = 1126;
	s->facts.collection_stop_us = 0;
	s->facts.paused_us = s->facts.walk_stop_us;
}

int main(int argc, char **argv)
{
	struct made m = {.at = START};
	if (argc < 3) {
		fprintf(stderr, "usage: survivors-tool shop|counted|hostile|many DIR [MILLIONS]\n");
		return 2;
	}
	AUTO_FD int dirfd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	m.b = heap_builder_new(false);
	bool counted = strcmp(argv[1], "counted") == 0;
	if (counted || strcmp(argv[1], "shop") == 0)
		make_shop(&m);
	else if (strcmp(argv[1], "hostile") == 0)
		make_hostile(&m);
	else
		make_many(&m, argc > 3 ? (uint32_t)atoi(argv[3]) : 1);
	struct heap_snapshot *s = heap_builder_finish_take(m.b);
	s->facts.way = HEAP_WAY_EXACT;
	s->facts.why = "its predicted stop fits the pause budget";
	s->facts.collection_stop_us = 12345;
	s->facts.walk_stop_us = 6789;
	s->facts.paused_us = 19134;
	if (counted)
		forget_holders(s);
	int code = write_report(s, dirfd);
	heap_snapshot_free(s);
	return code;
}
