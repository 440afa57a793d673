/* From a capture of allocations to what the reports show: types, who allocates what, methods with bytes in themselves and below, the
 * merged tree of logical stacks (agent/stacks/cpu_analysis.h says what logical means) with the allocated type as each stack's leaf, threads,
 * bytes over time. Pure; one thread; the result borrows from the capture, which must outlive it. */
#ifndef DRDOTNET_ALLOC_ANALYSIS_H
#define DRDOTNET_ALLOC_ANALYSIS_H

#include "agent/profilers/allocs/alloc_capture.h"
#include "agent/profilers/allocs/alloc_estimate.h"
#include "agent/stacks/stack_profile.h"

struct alloc_sum { /* of a type, or of a type and a method */
	struct alloc_estimate estimate;
	uint32_t type;
	uint32_t method;       /* of the application, nearest to the allocation; of a type: the one with most of it; CPU_NO_METHOD */
	double method_bytes;   /* of a type: of that method */
	enum alloc_heap heap;  /* of a type and a method */
	bool boxed;            /* of a type and a method: values that became objects */
	double large_bytes;    /* of a type: on the large object heap */
	uint64_t smallest, largest; /* of a type: sampled objects */
	uint32_t stack;        /* of a type and a method: the one with most of its bytes */
	double stack_bytes;
	uint32_t frame;        /* of a type and a method: the capture's, where the method allocates most of it; UINT32_MAX: not known */
};

struct alloc_analysis {
	const struct alloc_capture *capture;
	struct cpu_analysis base; /* methods, tree, leaves, threads; weights are bytes. By_self of a method: what is allocated in it, not below */
	struct alloc_sum *types, *sites; /* most bytes first */
	size_t type_count, site_count;
	double *objects;          /* by method: in it and below */
	double *caused;           /* by method: bytes whose nearest application method it is */
	uint32_t *stack_node;      /* by stack of the capture: the node of its innermost method */
	uint64_t *node_objects;   /* by node: of stacks that end there */
	struct alloc_estimate all, dropped;
	double large_bytes, large_objects, pinned_bytes;
	uint64_t cut_samples, stackless_samples;
	double timeline[CPU_TIMELINE_BUCKETS];
	double seconds, scale; /* scale: of the estimates, for time that they do not cover */
};

void alloc_analysis_run(const struct alloc_capture *c, struct alloc_analysis *out);
void alloc_analysis_fini(struct alloc_analysis *a);
/* As the writers of profiles want it; borrows from the analysis and the texts. */
void alloc_analysis_profile(const struct alloc_analysis *a, const char *subject, const char *headline, struct stack_profile *out);
double alloc_analysis_percent(const struct alloc_analysis *a, double bytes);
/* Where a method allocates most of a type; NULL: not known. */
const struct frame *alloc_analysis_place(const struct alloc_analysis *a, const struct alloc_sum *site);
const char *alloc_analysis_method(const struct alloc_analysis *a, uint32_t method); /* NULL: CPU_NO_METHOD */

#endif
