/* What a session of the Allocations profiler collected: the seam between collecting and analysis. Built by one thread, then
 * read-only. Bounded: ALLOC_MAX_*; what does not fit is counted. */
#ifndef DRDOTNET_ALLOC_CAPTURE_H
#define DRDOTNET_ALLOC_CAPTURE_H

#include "agent/profilers/allocs/alloc_estimate.h"
#include "agent/stacks/capture.h"
#include "agent/stacks/site_time.h"
#include "agent/target/gc_settings.h"

#define ALLOC_MAX_SITES 131072

enum alloc_heap { ALLOC_SMALL, ALLOC_LARGE, ALLOC_PINNED };

struct alloc_site { /* a stack, a thread, a type, and a class of sizes */
	uint32_t stack, thread, type; /* in the capture */
	enum alloc_heap heap;
	uint64_t samples, size;       /* of what was sampled; size: bytes of all the objects */
	bool incomplete;              /* callers may be missing from the stack */
	bool boxed;                   /* the object is a value that became one, by the runtime's word */
	struct alloc_estimate estimate;
};

struct alloc_capture {
	struct cpu_capture stacks; /* frames, stacks, threads, facts, collections; no samples */
	uint32_t event;            /* of the runtime: ALLOC_EVENT_* */
	struct gc_settings gc;     /* how the collector was set up */
	char **types;              /* shown names */
	size_t type_count, type_cap;
	struct alloc_site *sites;
	size_t site_count, site_cap;
	struct site_time time;     /* of bytes */
	uint64_t dropped, dropped_size, dropped_amount; /* samples without a site */
	uint64_t malformed;
	uint64_t samples, incomplete; /* of all sites; of those whose stacks may lack callers */
	double time_error;         /* relative variance, of having sampled a part of the time only */
};

void alloc_capture_fini(struct alloc_capture *c);

#endif
