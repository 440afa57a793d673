/* What a session of the Exceptions profiler collected: the seam between collecting and analysis. Built by one thread, then
 * read-only. Bounded: EXCEPTION_MAX_*; what does not fit is counted. */
#ifndef DRDOTNET_EXCEPTION_CAPTURE_H
#define DRDOTNET_EXCEPTION_CAPTURE_H

#include "agent/stacks/capture.h"
#include "agent/stacks/site_time.h"

#define EXCEPTION_MAX_SITES 131072

struct exception_kind {
	char *type;    /* shown name */
	char *shape;   /* of its message, masked; "": it has none, or there were too many */
	char *message; /* the first one's beginning; NULL: it may not be shown */
	uint32_t hresult;
};

struct exception_site { /* a stack, a thread, a kind */
	uint32_t stack, thread, kind; /* in the capture */
	bool inner, nested, rethrown; /* rethrown: by `throw;` */
	bool incomplete;              /* callers may be missing from the stack */
	uint64_t counted;
	double estimate;              /* with the time that was not sampled */
	int64_t first_ns, last_ns;    /* of the session: when it was counted first and last */
	uint32_t first_catch, catch_count; /* into the capture's */
};

struct exception_catch { /* where exceptions of a site were caught */
	uint32_t stack; /* of one frame: the method with the catch block */
	uint64_t counted;
};

struct exception_capture {
	struct cpu_capture stacks; /* frames, stacks, threads, facts; no samples */
	struct exception_kind *kinds;
	size_t kind_count, kind_cap;
	struct exception_site *sites;
	size_t site_count, site_cap;
	struct exception_catch *catches; /* of a site together */
	size_t catch_count, catch_cap;
	struct site_time time;
	bool catchers, revealed;   /* who catches was asked for; messages may be shown */
	uint64_t incomplete; /* counted ones whose stacks may lack callers */
	uint64_t counted, dropped, malformed, shapeless;
	int64_t cpu_ns;            /* of the process in the sampled time */
	uint64_t again;            /* caught though no throw of them was seen: by `throw;`, which .NET 9 and later does not tell of */
	uint64_t cpu_samples;      /* of the process, without the profiler's own; 0: none were taken */
	uint64_t unwinding_samples; /* of them, in the runtime's handling of exceptions */
	uint64_t timed;            /* exceptions whose way from the throw to the catch block was timed, and its CPU time */
	int64_t timed_ns;
};

void exception_capture_fini(struct exception_capture *c);

#endif
