/* speedscope's JSON (github.com/jlfwong/speedscope, "Importing from custom sources"): one sampled profile per thread, frames shared;
 * in the order of time where that is known. One thread; failures are kept in the file. */
#ifndef DRDOTNET_REPORT_SPEEDSCOPE_H
#define DRDOTNET_REPORT_SPEEDSCOPE_H

#include "agent/report/report_file.h"
#include "agent/stacks/stack_profile.h"

/* What one thread's profile consists of, in its order: returns how many of nodes and weights (in the profile's own unit) there are, at most
 * `most`. */
struct speedscope_order {
	size_t (*of_thread)(const void *ctx, uint32_t thread, uint32_t *nodes, uint64_t *weights);
	const void *ctx;
	size_t most;
};

/* `order` NULL: as the leaves are. */
void report_speedscope_write(const struct stack_profile *p, const struct speedscope_order *order, struct report_file *f);

#endif
