/* A heap walk's stream, any bytes, to the graph and all that is asked of it. The first byte: with digests of strings or without, by one
 * thread or two, all roots known or only some. */
#include "agent/heap/heap_graph.h"
#include "agent/heap/heap_paths.h"
#include "agent/heap/heap_totals.h"
#include "tests/fuzz/fuzz_heap.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STRINGS 1
#define ONE_THREAD 2
#define SOME_ROOTS 4

static void check_tree(const struct heap_graph *g)
{
	uint64_t reached = 0;

	for (uint32_t place = 0; place < g->placed; place++) {
		uint32_t node = g->node_at[place];
		check(g->place_of[node] == place);
		check(place == 0 || (g->parent[place] < place && place - g->parent[place] <= g->below[g->parent[place]]));
		check(g->below[place] < g->placed - place);
		reached += heap_graph_size(g, node);
	}
	check(g->retained[0] == reached);
	for (uint32_t node = 0; node < g->objects; node++) {
		check(heap_graph_node(g, heap_graph_address(g, node)) == node);
		check(node == 0 || heap_graph_address(g, node) >= heap_graph_address(g, node - 1) + heap_graph_size(g, node - 1));
	}
}

static void ask(const struct heap_graph *g)
{
	struct heap_space spaces[HEAP_GENERATIONS];
	struct heap_groups groups;
	struct heap_paths paths;
	uint64_t bytes = 0;

	heap_spaces(g, spaces);
	for (int i = 0; i < HEAP_GENERATIONS; i++)
		bytes += spaces[i].bytes;
	check(bytes == g->retained[0]);
	heap_groups_by_type(&groups, g->snapshot);
	struct heap_total *totals = mem_calloc(groups.count + 1, sizeof *totals);
	heap_totals(g, &groups, totals);
	for (uint32_t i = 0; i < groups.count; i++) {
		bytes -= totals[i].bytes;
		check(totals[i].retained >= totals[i].bytes && totals[i].retained <= g->retained[0]);
	}
	check(bytes == 0);
	free(totals);
	heap_groups_fini(&groups);
	check(heap_paths_find(g, 1, 8, &paths, NULL) == 0);
	for (size_t i = 0; i < paths.count; i++)
		bytes += paths.paths[i].held;
	check(bytes <= g->retained[0]);
	heap_paths_fini(&paths);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;

	if (size < 2 || size > 1 << 16)
		return 0;
	struct heap_snapshot *s = read_snapshot(data + 1, size - 1, data[0] & STRINGS, "other", "one");
	if (!s)
		return 0;
	s->facts.way = data[0] & SOME_ROOTS ? HEAP_WAY_NO_COLLECTION : HEAP_WAY_EXACT;
	const struct heap_graph_options o = {.dirfd = -1, .one_thread = data[0] & ONE_THREAD};
	struct heap_graph *g = heap_graph_new(s, &o, &e);
	check(g || e.kind == ERR_PROTOCOL);
	if (g) {
		check_tree(g);
		ask(g);
	}
	heap_graph_free(g);
	heap_snapshot_free(s);
	return 0;
}
