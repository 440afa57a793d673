/* Where a stack of an exception stands in the tree, which method of the application threw it and how far from it the catch block is. Part of the
 * analysis (exception_analysis.h); one thread. */
#ifndef DRDOTNET_EXCEPTION_PLACE_H
#define DRDOTNET_EXCEPTION_PLACE_H

#include "agent/profilers/exceptions/exception_analysis.h"
#include "agent/stacks/cpu_method_table.h"

struct exception_place { /* a stack of the capture */
	uint32_t node;           /* of its innermost method that is not the machinery of throwing */
	uint32_t method, caller; /* nearest application method, and the next one above it that is another; CPU_NO_METHOD */
	uint32_t frame;          /* of `method`, the innermost: it throws there; UINT32_MAX */
	bool again;              /* what is thrown was thrown before, and kept: an await, ExceptionDispatchInfo.Throw */
	bool done;
};

struct exception_placing {
	struct cpu_method_table table;
	struct exception_place *stacks;
	uint32_t cut, none; /* methods that stand for no frame */
};

/* After the tree was begun. */
void exception_placing_init(struct exception_placing *p, struct cpu_analysis *a);
/* Frees it; returns the nodes, by stack. */
uint32_t *exception_placing_end(struct exception_placing *p, size_t stack_count);

const struct exception_place *exception_place_stack(struct exception_placing *p, struct cpu_analysis *a, uint32_t stack);
/* Where most of a site are caught, and how many of the counted ones are. CAUGHT_UNKNOWN: *catcher is CPU_NO_METHOD. */
enum exception_distance exception_place_catcher(struct exception_placing *p, const struct cpu_analysis *a, const struct exception_capture *c,
						const struct exception_site *s, uint32_t *catcher, uint64_t *caught);

#endif
