#include "agent/stacks/cpu_edges.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

static size_t most_edges(const uint32_t *counts, size_t method_count, struct cpu_edge *out, size_t cap)
{
	size_t n = 0;
	for (size_t m = 0; m <= method_count; m++) { /* the last stands for the thread's start */
		if (!counts[m] || (n == cap && counts[m] <= out[n - 1].count))
			continue;
		size_t at = n < cap ? n++ : n - 1;
		for (; at > 0 && out[at - 1].count < counts[m]; at--)
			out[at] = out[at - 1];
		out[at] = (struct cpu_edge){m == method_count ? CPU_NO_METHOD : (uint32_t)m, counts[m]};
	}
	return n;
}

size_t cpu_edges_callers(const struct cpu_analysis *a, uint32_t method, struct cpu_edge *out, size_t cap)
{
	const struct stack_tree *t = &a->tree;
	AUTO_FREE uint32_t *counts = mem_calloc(a->method_count + 1, sizeof *counts);
	uint32_t inside = UINT32_MAX; /* depth of the outermost frame of the method that we are in */
	for (size_t i = 1; i < t->count && cap; i++) {
		const struct stack_node *n = &t->nodes[t->order[i]];
		if (n->depth <= inside)
			inside = UINT32_MAX;
		if (n->method != method || inside != UINT32_MAX)
			continue;
		inside = n->depth;
		uint32_t caller = t->nodes[n->parent].method;
		counts[caller == STACK_TREE_NONE ? a->method_count : caller] += n->total;
	}
	return cap ? most_edges(counts, a->method_count, out, cap) : 0;
}

size_t cpu_edges_callees(const struct cpu_analysis *a, uint32_t method, struct cpu_edge *out, size_t cap)
{
	const struct stack_tree *t = &a->tree;
	AUTO_FREE uint32_t *counts = mem_calloc(a->method_count + 1, sizeof *counts);
	AUTO_FREE uint32_t *active = mem_calloc(a->method_count + 1, sizeof *active); /* calls of it on the path */
	AUTO_FREE uint32_t *path = mem_calloc(CAPTURE_MAX_DEPTH + 3, sizeof *path);
	size_t depth = 0;
	for (size_t i = 1; i < t->count && cap; i++) {
		const struct stack_node *n = &t->nodes[t->order[i]];
		for (; depth >= n->depth; depth--)
			if (path[depth] != CPU_NO_METHOD)
				active[path[depth]]--;
		bool called = t->nodes[n->parent].method == method;
		path[++depth] = called ? n->method : CPU_NO_METHOD;
		if (called && active[n->method]++ == 0)
			counts[n->method] += n->total;
	}
	return cap ? most_edges(counts, a->method_count, out, cap) : 0;
}
