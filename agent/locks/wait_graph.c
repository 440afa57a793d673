#include "agent/locks/wait_graph.h"

#include "common/base/mem.h"

#include <stdlib.h>

static uint32_t *none_for_each(size_t count)
{
	uint32_t *list = mem_calloc(count + 1, sizeof *list);
	for (size_t i = 0; i < count; i++)
		list[i] = WAIT_NONE;
	return list;
}

/* Numbers the circle that begins and ends at `at`. */
static void number_circle(struct wait_graph *g, uint32_t at)
{
	uint32_t i = at;
	do {
		g->circle[i] = g->circles;
		g->last[i] = at;
		i = g->holder[i];
	} while (i != at);
	g->circles++;
}

/* Goes from a thread to where its way ends; `met` says on which walk a thread was met first. */
static void follow_wait(struct wait_graph *g, uint32_t from, uint32_t *met)
{
	uint32_t at = from;
	while (met[at] == WAIT_NONE && g->holder[at] != WAIT_NONE) {
		met[at] = from;
		at = g->holder[at];
	}
	if (met[at] == from)
		number_circle(g, at);
	uint32_t end = g->last[at] != WAIT_NONE ? g->last[at] : at;
	met[at] = met[at] == WAIT_NONE ? from : met[at];
	for (uint32_t i = from; g->last[i] == WAIT_NONE; i = g->holder[i]) {
		g->last[i] = end;
		if (g->holder[i] == WAIT_NONE)
			break;
	}
}

void wait_graph_make_take(struct wait_graph *g, uint32_t *holder, size_t threads)
{
	*g = (struct wait_graph){.threads = threads, .holder = holder, .circle = none_for_each(threads), .last = none_for_each(threads)};
	g->behind = mem_calloc(threads + 1, sizeof *g->behind);
	uint32_t *met = none_for_each(threads);
	for (uint32_t i = 0; i < threads; i++)
		if (holder[i] >= threads || holder[i] == i)
			holder[i] = WAIT_NONE;
	for (uint32_t i = 0; i < threads; i++)
		follow_wait(g, i, met);
	for (uint32_t i = 0; i < threads; i++)
		if (g->last[i] != i && g->last[i] != WAIT_NONE)
			g->behind[g->last[i]]++;
	free(met);
}

void wait_graph_fini(struct wait_graph *g)
{
	free(g->holder);
	free(g->circle);
	free(g->last);
	free(g->behind);
	*g = (struct wait_graph){0};
}
