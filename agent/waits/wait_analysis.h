/* From the waits of a session to what its reports show: what the threads wait for and where, what only idles, who holds the monitors, how the pool's workers
 * do. Waits without a stack count by what is known of waits of the same thread that lasted about as long, or, where threads were looked at at random moments,
 * by what these saw. Pure; one thread; borrows from the capture. */
#ifndef DRDOTNET_WAIT_ANALYSIS_H
#define DRDOTNET_WAIT_ANALYSIS_H

#include "agent/waits/wait_join.h"
#include "agent/waits/wait_states.h"
#include "agent/stacks/cpu_analysis.h"
#include "agent/stacks/stack_profile.h"

struct wait_place {
	uint32_t id;          /* before they were sorted */
	struct wait_meaning meaning;
	uint32_t method;      /* the innermost one of the application; CPU_NO_METHOD: none is on the stack */
	double ns, count;     /* estimates of all such waits */
	double pool_ns;       /* of it, of the pool's workers */
	int64_t p50_ns, p99_ns, longest_ns;
	uint32_t looked;      /* by looks at the threads: there were at least so many */
	uint32_t threads, whole; /* whole: wait there from the session's beginning to its end */
	uint32_t stack;       /* in the capture: of the longest wait */
	uint32_t nearest;     /* where `method` is none: the innermost one of .NET on that stack that is not the waiting itself; CPU_NO_METHOD: none */
	/* of locks: at so many looks it was held, by a thread that waited in that method at most of them */
	uint32_t sightings, held_running, held_known;
	int64_t database_ns;  /* the last look that found a SQLite database locked while it was waited for here */
	uint32_t holder;      /* method of the holder; CPU_NO_METHOD */
	const char *holder_what; /* what the holder waits for; NULL */
};

struct wait_worker_sums { /* of the thread pool's workers */
	uint32_t workers, blocked, still; /* blocked: for nine tenths of their time; still: without one switch */
	double alive_ns, blocked_ns, idle_ns;
};

struct wait_analysis {
	const struct wait_capture *capture;
	struct wait_join join;      /* each wait with its stack ... */
	uint32_t *place_of;         /* ... and its place, by join.list; UINT32_MAX: none */
	uint32_t *method_of;        /* the application's innermost method, by stack; CPU_NO_METHOD: none is on it, or no wait has it */
	struct cpu_analysis base;   /* methods, tree, leaves, threads; weights are nanoseconds of waiting */
	struct wait_place *places;  /* that block, then those that idle, each by falling time */
	size_t place_count, blocking_count;
	double by_kind[WAIT_KIND_COUNT], counts[WAIT_KIND_COUNT]; /* of what does not idle; ns */
	double waiting_ns;          /* their sum, without waiting for a CPU */
	double idle_ns, unseen_ns;  /* unseen: without a stack */
	double cut_ns;              /* with a stack that is not whole */
	uint64_t switches, waits;   /* waits: with a stack */
	struct wait_worker_sums pool;
	double *thread_idle_ns;
	double *thread_kind_ns;     /* by thread and kind; what does not idle */
	struct wait_states states;
	bool *is_worker;
	double seconds;
};

void wait_analysis_run(const struct wait_capture *c, struct wait_analysis *out);
void wait_analysis_fini(struct wait_analysis *a);

/* The name of a place's method; "code of .NET" where there is none of the application. */
const char *wait_analysis_place(const struct wait_analysis *a, const struct wait_place *p);

/* Percent of the waiting that does not idle. */
double wait_analysis_percent(const struct wait_analysis *a, double ns);

/* Threads that wait so at a time, on average. */
double wait_analysis_threads(const struct wait_analysis *a, double ns);

/* Of the session's time, in which switches were recorded. */
double wait_analysis_recorded_percent(const struct wait_analysis *a);

void wait_analysis_profile(const struct wait_analysis *a, const char *subject, const char *headline, struct stack_profile *out);

#endif
