/* heap_graph OBJECTS MEGABYTES [one]: makes a heap of so many objects, analyses it with so much memory for the graph (0: as agents do; `one`:
 * by one thread), and prints one JSON line with what that took. `make test-tools` builds it as build/release/tests/heap-graph.
 *
 * The heap is a shop's: orders with lines, notes and back references, customers and products that are shared at random over the whole
 * heap, a few objects that everybody holds, a list through all orders, and arrays of orders below one static. */
#include "agent/heap/heap_graph.h"
#include "agent/heap/heap_paths.h"
#include "agent/heap/heap_snapshot_private.h"
#include "agent/heap/heap_type_name.h"
#include "agent/heap/heap_totals.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define UNIT 16                        /* objects of one order */
#define BASE UINT64_C(0x7e0000000000)  /* small objects */
#define LARGE UINT64_C(0x7f0000000000) /* arrays of orders */
#define ARRAY_LENGTH 1024
#define ARRAY_BYTES (16 + 8 * ARRAY_LENGTH)
#define HUBS 64

enum { ORDER, STRING, LIST, LINES, LINE, NODE, CUSTOMER, PRODUCT, BOX, ARRAY, TYPES };

static const struct {
	const char *name;
	uint8_t flags;
	uint32_t size;
} types[TYPES] = {
	[ORDER] = {"Shop.Order", HEAP_TYPE_REFERENCES, 72},
	[STRING] = {"System.String", HEAP_TYPE_STRING | HEAP_TYPE_VARIABLE, 22},
	[LIST] = {"System.Collections.Generic.List`1[Shop.Line]", HEAP_TYPE_REFERENCES, 32},
	[LINES] = {"Shop.Line[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24},
	[LINE] = {"Shop.Line", HEAP_TYPE_REFERENCES, 56},
	[NODE] = {"Shop.Node", HEAP_TYPE_REFERENCES, 32},
	[CUSTOMER] = {"Shop.Customer", HEAP_TYPE_REFERENCES, 48},
	[PRODUCT] = {"Shop.Product", HEAP_TYPE_REFERENCES, 40},
	[BOX] = {"System.Int64", 0, 24},
	[ARRAY] = {"Shop.Order[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24},
};

static const struct {
	int type;
	uint32_t size, at; /* in the unit */
} unit[UNIT + 1] = {
	{ORDER, 72, 0},    {STRING, 40, 72},  {LIST, 32, 112},  {LINES, 48, 144},  {LINE, 56, 192},     {STRING, 46, 248},
	{LINE, 56, 296},   {STRING, 62, 352}, {LINE, 56, 416},  {STRING, 54, 472}, {NODE, 32, 528},     {BOX, 24, 560},
	{STRING, 96, 584}, {CUSTOMER, 48, 680}, {PRODUCT, 40, 728}, {STRING, 38, 768}, {0, 0, 808},
};

struct heap {
	struct heap_writer w; /* first: heap_writer.more finds the rest by it */
	struct heap_store store;
	uint64_t units;
	uint8_t block[1 << 16];
};

static bool more(struct heap_writer *w)
{
	struct heap *h = (struct heap *)w;

	if (w->at > h->block && heap_store_append(&h->store, h->block, (size_t)(w->at - h->block), NULL) < 0)
		return false;
	w->at = h->block;
	w->limit = h->block + sizeof h->block - HEAP_PUT_MAX;
	return true;
}

static uint64_t address(uint64_t unit_index, int object)
{
	return BASE + unit_index * unit[UNIT].at + unit[object].at;
}

static uint64_t anywhere(const struct heap *h, uint64_t seed)
{
	seed *= UINT64_C(0x9E3779B97F4A7C15);
	return (seed >> 33) % h->units;
}

static void put(struct heap *h, uint64_t u, int object, const uint64_t *targets, size_t count)
{
	uint64_t at = address(u, object);

	heap_room(&h->w);
	heap_put_object(&h->w, (uint32_t)unit[object].type, at, unit[object].size, types[unit[object].type].flags & HEAP_TYPE_VARIABLE);
	if (!(types[unit[object].type].flags & HEAP_TYPE_REFERENCES))
		return;
	heap_put_count(&h->w, count);
	for (size_t i = 0; i < count && heap_room(&h->w); i++)
		heap_put_edge(&h->w, i ? 8 : object == 3 ? 16 : 8, at, targets[i]);
}

static void put_unit(struct heap *h, uint64_t u)
{
	uint64_t hub = address(u % HUBS % h->units, 13), next = u + 1 < h->units ? u + 1 : 0;

	put(h, u, 0, (const uint64_t[]){address(u, 1), address(u, 2), address(anywhere(h, u), 13), hub, address(u, 11), address(u, 12),
					address(u / 1000 % h->units, 14)}, 7);
	put(h, u, 1, NULL, 0);
	put(h, u, 2, (const uint64_t[]){address(u, 3)}, 1);
	put(h, u, 3, (const uint64_t[]){address(u, 4), address(u, 6), address(u, 8)}, 3);
	for (int line = 4; line <= 8; line += 2) {
		put(h, u, line, (const uint64_t[]){address(u, line + 1), address(u, 0), address(anywhere(h, 3 * u + (uint64_t)line), 14), hub,
						   address(u, line == 4 ? 8 : line - 2)}, 5);
		put(h, u, line + 1, NULL, 0);
	}
	put(h, u, 10, (const uint64_t[]){address(next, 10), address(u, 0)}, 2);
	put(h, u, 11, NULL, 0);
	put(h, u, 12, NULL, 0);
	put(h, u, 13, (const uint64_t[]){address(u, 15), address(u, 12)}, 2);
	put(h, u, 14, (const uint64_t[]){address(u, 15), hub}, 2);
	put(h, u, 15, NULL, 0);
}

static uint64_t put_array(struct heap *h, uint64_t at, uint64_t count, uint64_t first_target, uint64_t step)
{
	heap_room(&h->w);
	heap_put_object(&h->w, ARRAY, at, 16 + 8 * count, true);
	heap_put_count(&h->w, count);
	for (uint64_t i = 0; i < count && heap_room(&h->w); i++)
		heap_put_edge(&h->w, i ? 8 : 16, at, first_target + i * step);
	return at + 16 + 8 * count;
}

static void put_arrays(struct heap *h)
{
	uint64_t count = (h->units + ARRAY_LENGTH - 1) / ARRAY_LENGTH, at = LARGE;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t left = h->units - i * ARRAY_LENGTH;
		at = put_array(h, at, left < ARRAY_LENGTH ? left : ARRAY_LENGTH, address(i * ARRAY_LENGTH, 0), unit[UNIT].at);
	}
	put_array(h, at, count, LARGE, ARRAY_BYTES);
	const struct heap_root_record roots[] = {
		{.kind = HEAP_ROOT_STATIC, .object = at},
		{.kind = HEAP_ROOT_STATIC, .object = address(0, 10)},
		{.kind = HEAP_ROOT_STACK, .object = address(h->units / 2, 0)},
	};
	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
		heap_put_root(&h->w, &roots[i]);
}

static struct heap_snapshot *make(uint64_t objects)
{
	static struct heap h;
	struct heap_scan scan;
	struct err e = ERR_INIT;

	h.units = objects / UNIT ? objects / UNIT : 1;
	heap_store_init(&h.store, -1, HEAP_SNAPSHOT_MEMORY, SIZE_MAX / 2);
	h.w.more = more;
	h.w.at = h.block;
	more(&h.w);
	for (uint32_t i = 0; i < TYPES; i++)
		heap_put_type(&h.w, &(struct heap_type_record){.index = i, .class_id = 8 * i, .flags = types[i].flags, .base_size = types[i].size});
	heap_put_range(&h.w, &(struct heap_range_record){.generation = HEAP_GEN2, .start = BASE, .length = LARGE - BASE});
	heap_put_range(&h.w, &(struct heap_range_record){.generation = HEAP_GEN_LOH, .start = LARGE, .length = LARGE - BASE});
	for (uint64_t u = 0; u < h.units; u++)
		put_unit(&h, u);
	put_arrays(&h);
	heap_put_end(&h.w, true, 0);
	more(&h.w);
	struct heap_snapshot *s = heap_store_seal(&h.store, &e) < 0 ? NULL : heap_snapshot_scan_take(&h.store, false, &scan, &e);
	if (!s) {
		fprintf(stderr, "%s\n", e.message);
		exit(1);
	}
	s->roots = mem_calloc(scan.root_count, sizeof *s->roots);
	for (size_t i = 0; i < scan.root_count; i++)
		s->roots[s->root_count++] = (struct heap_root){.kind = scan.roots[i].kind, .object = scan.roots[i].object,
							       .label = i == 0 ? "static Shop.Cache._pages" : i == 1 ? "static Shop.Log._first" : "stack"};
	heap_scan_fini(&scan);
	for (uint32_t i = 0; i < TYPES; i++)
		heap_type_set_name(&s->types[i], types[i].name);
	return s;
}

static uint64_t status_kb(const char *name)
{
	char line[256];
	uint64_t value = 0;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtoull(line + strlen(name) + 1, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

/* So that VmHWM is the analysis', not the generator's. */
static void forget_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "5", 1) != 1)
		fprintf(stderr, "the peak is also the generator's\n");
	if (fd >= 0)
		close(fd);
}

static double seconds_since(int64_t *then_ns)
{
	int64_t now = clock_mono_ns();
	double s = (double)(now - *then_ns) / 1e9;

	*then_ns = now;
	return s;
}

static double cpu_seconds(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
	struct heap_space spaces[HEAP_GENERATIONS];
	struct heap_total *totals;
	struct heap_groups groups;
	struct heap_paths paths;
	struct err e = ERR_INIT;

	if (argc < 3) {
		fprintf(stderr, "usage: heap_graph OBJECTS MEGABYTES [one]\n");
		return 2;
	}
	int64_t t = clock_mono_ns();
	struct heap_snapshot *s = make(strtoull(argv[1], NULL, 10));
	double make_s = seconds_since(&t);
	uint64_t before_kb = status_kb("VmRSS:");
	double cpu_s = cpu_seconds();
	forget_peak();
	const struct heap_graph_options o = {.memory_bytes = strtoull(argv[2], NULL, 10) << 20, .dirfd = -1, .one_thread = argc > 3};
	struct heap_graph *g = heap_graph_new(s, &o, &e);
	if (!g) {
		fprintf(stderr, "%s\n", e.message);
		return 1;
	}
	double graph_s = seconds_since(&t);
	uint64_t graph_peak_kb = status_kb("VmHWM:");
	heap_groups_by_type(&groups, s);
	totals = mem_calloc(groups.count, sizeof *totals);
	heap_totals(g, &groups, totals);
	heap_spaces(g, spaces);
	double totals_s = seconds_since(&t);
	heap_paths_find(g, g->retained[0] / 200, 20, &paths, &e);
	double paths_s = seconds_since(&t);
	cpu_s = cpu_seconds() - cpu_s;
	printf("{\"objects\": %u, \"edges\": %" PRIu64 ", \"streamMB\": %zu, \"madeSeconds\": %.2f, \"graphSeconds\": %.3f, \"totalsSeconds\": %.3f, "
	       "\"pathsSeconds\": %.3f, \"cpuSeconds\": %.3f, \"beforeMB\": %" PRIu64
	       ", \"peakMB\": %" PRIu64 ", \"spilledMB\": %" PRIu64 ", \"orderRetainedMB\": %" PRIu64 ", \"paths\": %zu}\n",
	       g->objects, g->edges, s->stream_bytes >> 20, make_s, graph_s, totals_s, paths_s, cpu_s, before_kb >> 10, graph_peak_kb >> 10,
	       g->spilled_bytes >> 20, totals[ORDER].retained >> 20, paths.count);
	for (size_t i = 0; i < paths.count && getenv("VERBOSE"); i++) {
		const struct heap_path *p = &paths.paths[i];
		fprintf(stderr, "%s", p->label);
		for (size_t k = 0; k < p->step_count; k++)
			fprintf(stderr, " %s -> %s x %" PRIu64, p->steps[k].field, s->types[p->steps[k].type].name, p->steps[k].count);
		fprintf(stderr, ": %" PRIu64 " MB\n", p->held >> 20);
	}
	heap_paths_fini(&paths);
	heap_groups_fini(&groups);
	free(totals);
	heap_graph_free(g);
	heap_snapshot_free(s);
	return 0;
}
