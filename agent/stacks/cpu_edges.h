/* Who calls a method and what it calls, from the merged tree of stacks. Pure; any thread. */
#ifndef DRDOTNET_CPU_EDGES_H
#define DRDOTNET_CPU_EDGES_H

#include "agent/stacks/cpu_analysis.h"

struct cpu_edge {              /* a caller or a callee of a method */
	uint32_t method;       /* CPU_NO_METHOD: the thread's start */
	uint32_t count;
};

/* Callers or callees of a method, most first, at most `cap`. Returns how many. Shares of the method's total; recursion counts
 * once. */
size_t cpu_edges_callers(const struct cpu_analysis *a, uint32_t method, struct cpu_edge *out, size_t cap);
size_t cpu_edges_callees(const struct cpu_analysis *a, uint32_t method, struct cpu_edge *out, size_t cap);

#endif
