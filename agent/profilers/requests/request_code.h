/* The CPU time of each endpoint's requests: samples of threads while they worked for one, by method and as a tree of stacks. Pure; one thread; borrows. */
#ifndef DRDOTNET_REQUEST_CODE_H
#define DRDOTNET_REQUEST_CODE_H

#include "agent/profilers/requests/request_log.h"
#include "agent/profilers/requests/request_work.h"
#include "agent/stacks/cpu_analysis.h"

#define CODE_METHODS 20 /* of an endpoint */
#define CODE_TREES 5    /* endpoints with a tree */

struct code_method {
	uint32_t method; /* of the analysis */
	uint32_t self, total;
	uint32_t own; /* it was the innermost one of the application */
};

struct endpoint_code {
	uint32_t samples, jit; /* jit: of them, in the runtime's compiler */
	uint32_t first_samples, first_jit; /* of the first request */
	struct code_method methods[CODE_METHODS]; /* those of the application before all others, by falling `own`, then by total */
	size_t method_count;
	uint32_t callee, callee_samples; /* the method of a library that the first of them calls in most samples in which it is the innermost one of the
					  * application; samples 0: it calls none, or is none of the application */
	struct stack_tree *tree; /* NULL: it is not one of the first endpoints */
};

struct request_code { /* zeroed: there are no samples */
	struct cpu_analysis analysis;
	bool analyzed;
	uint32_t samples;    /* in the time in which it was told which thread works for which request */
	uint32_t attributed; /* of them, to a request */
	uint32_t unnamed;    /* of these, whose endpoint is not known: they had not ended */
};

/* `endpoint_of`: by shape, UINT32_MAX: none; `first`: by endpoint, the number of its first request. `out`: `count` of them, zeroed. */
void request_code_make(const struct cpu_capture *cpu, const struct request_work *w, const struct request_log *l, const uint32_t *endpoint_of,
		       const uint32_t *first, struct endpoint_code *out, size_t count, struct request_code *all);
void request_code_fini_endpoint(struct endpoint_code *c);
void request_code_fini(struct request_code *all);

#endif
