/* What every writer of a report file about CPU time gets: all of it finished and read-only. */
#ifndef DRDOTNET_REPORT_SOURCE_H
#define DRDOTNET_REPORT_SOURCE_H

#include "agent/cpu_analysis.h"
#include "agent/cpu_diagnosis.h"
#include "agent/report_head.h"

struct report_source {
	const struct cpu_analysis *analysis;
	const struct cpu_diagnosis *diagnosis;
	struct report_head head;
};

/* The methods from below a node's root to the node, root first, into out[node depth]. Returns how many. */
static inline size_t report_path(const struct stack_tree *t, uint32_t node, uint32_t *out)
{
	size_t depth = t->nodes[node].depth;
	for (size_t i = depth; i-- > 0; node = t->nodes[node].parent)
		out[i] = t->nodes[node].method;
	return depth;
}
#define REPORT_PATH_MAX (CAPTURE_MAX_DEPTH + 2)

#endif
