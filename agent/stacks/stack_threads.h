/* The threads of a capture as analyses and reports see them, whatever was sampled on them. Pure; one thread. */
#ifndef DRDOTNET_STACK_THREADS_H
#define DRDOTNET_STACK_THREADS_H

#include "agent/stacks/capture.h"

#define CPU_NO_METHOD UINT32_MAX

struct stack_thread {
	int64_t tid;
	char *name;          /* shown form */
	uint64_t weight;     /* as the flame graph's: of CPUHotpaths samples */
	int64_t cpu_ns;      /* its CPU time; 0: not known */
	uint32_t top_method; /* where most of it is; CPU_NO_METHOD: not known */
};

/* Those of the capture, in its order, named and without weight. */
struct stack_thread *stack_threads_new(const struct cpu_capture *c);
void stack_threads_free(struct stack_thread *threads, size_t count); /* NULL: nothing, whatever the count */

/* A new array of their indices, most weight first; of equal weights the lower tid. */
uint32_t *stack_threads_order(const struct stack_thread *threads, size_t count);

#endif
