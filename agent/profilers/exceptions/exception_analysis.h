/* From a capture of exceptions to what the reports show: types, who throws what and who catches it, methods and the merged tree of logical stacks
 * (agent/stacks/cpu_analysis.h says what logical means) with the thrown type as each stack's leaf, threads, exceptions over time. The runtime's own
 * machinery of throwing at the leaf of a stack is folded away. Pure; one thread; the result borrows from the capture, which must outlive it. */
#ifndef DRDOTNET_EXCEPTION_ANALYSIS_H
#define DRDOTNET_EXCEPTION_ANALYSIS_H

#include "agent/profilers/exceptions/exception_capture.h"
#include "agent/stacks/stack_profile.h"

/* An exception is counted as new once; on its way it may be thrown again. */
enum exception_way { EXCEPTION_NEW, EXCEPTION_RETHROW, EXCEPTION_AWAIT, EXCEPTION_WAYS };
const char *exception_way_name(enum exception_way w); /* "new", "rethrow", "await", for report.json */

enum exception_distance { /* of the catch block from the throw, in methods of the application */
	CAUGHT_UNKNOWN, /* no catch block was seen */
	CAUGHT_SAME,    /* in the method that throws */
	CAUGHT_CALLER,  /* in its direct caller */
	CAUGHT_FAR,
	CAUGHT_TASK,    /* in an async method: it may be the one that the compiler makes, which stores the exception in the task */
	CAUGHT_OUTSIDE, /* not in the application's code */
};
const char *exception_distance_name(enum exception_distance d);

struct exception_sum { /* a kind, or kinds of one type, thrown by one method in one way; or all of a type */
	uint32_t kind;           /* in the capture; of a type: the first of it */
	enum exception_way way;
	uint32_t method;         /* of the application, nearest to the throw; CPU_NO_METHOD */
	uint32_t catcher;        /* where most are caught; CPU_NO_METHOD */
	enum exception_distance distance;
	uint64_t counted;
	double count;            /* estimated */
	double caught;           /* of them in `catcher`, in counted ones */
	double inner;            /* of them with an inner exception */
	uint32_t stack;          /* the one with most of them, in the capture */
	uint32_t frame;          /* in that stack: where the method throws, in the capture; UINT32_MAX: not known */
	double stack_count;
	int64_t first_ns, last_ns;
};

struct exception_analysis {
	const struct exception_capture *capture;
	struct cpu_analysis base; /* methods, tree, leaves, threads; weights are exceptions */
	struct exception_sum *types, *sites; /* most first; types: new ones only */
	size_t type_count, site_count;
	double ways[EXCEPTION_WAYS]; /* exceptions, estimated */
	double inner, nested;        /* of the new ones: with an inner exception; thrown while another was on its way */
	uint64_t cut, stackless;     /* counted ones */
	uint32_t *stack_node;        /* by stack of the capture: the node of its innermost method */
	double timeline[CPU_TIMELINE_BUCKETS];
	double seconds;
	double cpus;          /* that the process used; NAN: not known */
	double cost_us;       /* CPU time of an exception on its way from the throw to the catch block; NAN: not known */
	double cost_percent;  /* of the process's CPU time, for all of them; NAN: not known */
	bool exact;           /* all were counted */
};

void exception_analysis_run(const struct exception_capture *c, struct exception_analysis *out);
void exception_analysis_fini(struct exception_analysis *a);
/* As the writers of profiles want it; borrows from the analysis and the texts. */
void exception_analysis_profile(const struct exception_analysis *a, const char *subject, const char *headline, struct stack_profile *out);
double exception_analysis_percent(const struct exception_analysis *a, double count); /* of the new ones */
const char *exception_analysis_method(const struct exception_analysis *a, uint32_t method); /* NULL: CPU_NO_METHOD */

#endif
