/* What the threads did while they worked for requests: each moment of a thread is told by the kernel's records of its switches, or by looks at it, or not at
 * all. Made once, then read-only. Pure; one thread. */
#ifndef DRDOTNET_REQUEST_WORK_H
#define DRDOTNET_REQUEST_WORK_H

#include "agent/stacks/capture.h"
#include "agent/waits/wait_analysis.h"

/* Of several threads of one request the first of these that one of them does counts: what brings it on is more than what holds it up. */
enum request_doing {
	DOING_GC,      /* the runtime has stopped all threads for a collection, or collects on this one */
	DOING_CODE,    /* it runs */
	DOING_LOCK,
	DOING_IO,      /* synchronous: network, files, console, pages of memory */
	DOING_TASK,    /* blocked until a task is done */
	DOING_NO_CPU,  /* it could run, and has no CPU */
	DOING_SLEEP,
	DOING_BLOCKED, /* by something else: events, native code, the runtime */
	DOING_UNTOLD,
	DOING_COUNT,
	DOING_IDLE = DOING_COUNT, /* the thread has gone back to its pool, and works for nobody */
};
const char *request_doing_key(enum request_doing d);   /* "code", ... for report.json */
const char *request_doing_title(enum request_doing d); /* "code", "blocked on tasks", ... for people */

#define WORK_NO_PLACE UINT32_MAX

struct work_span { /* a thread did not run */
	int64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
	int64_t seen_from_ns, seen_to_ns; /* it was seen then; where looks tell of it, it may have been shorter than from_ns to to_ns */
	uint32_t tid;           /* as the process sees it */
	uint32_t place;         /* in the waits' analysis; WORK_NO_PLACE */
	uint8_t doing;          /* enum request_doing */
	bool recorded;          /* by the kernel; else looks tell of it */
};

struct work_sample { /* a thread ran */
	int64_t time_ns;
	uint32_t tid, sample;   /* in the capture of CPU time */
};

struct work_stop { /* all threads stood for a collection */
	int64_t from_ns, to_ns;
};

struct work_interval { /* between two readings of the scheduler's figures of a thread */
	int64_t from_ns, to_ns;
	int64_t rest_ns;        /* of it, in which no record of switches tells what the thread did ... */
	int64_t run_ns;         /* ... and in which it ran ... */
	int64_t no_cpu_ns;      /* ... and at least waited for a CPU */
	uint32_t tid;
};

struct request_work { /* zeroed: nothing is told */
	struct work_span *spans; /* by thread, then by time; those of one thread do not overlap */
	size_t span_count, span_cap;
	struct work_sample *samples; /* by thread, then by time */
	size_t sample_count;
	struct work_stop *stops; /* by time */
	size_t stop_count;
	struct wait_window *windows; /* in which a thread ran that is in no span, if it has a recorded one there; by time */
	size_t window_count;
	struct work_interval *intervals; /* by thread, then by time; see request_rest.h */
	size_t interval_count, interval_cap;
	int64_t period_ns;       /* CPU time that a sample stands for; 0: there are no samples */
	const struct wait_analysis *waits; /* the places'; NULL: there is none */
};

/* `waits`, `cpu`: NULL where they could not be followed. Borrowed. */
void request_work_make(const struct wait_analysis *waits, const struct cpu_capture *cpu, int64_t cpu_started_ns, struct request_work *out);
void request_work_sort(struct request_work *w); /* for those made by hand; sorts, and cuts what overlaps */
void request_work_fini(struct request_work *w);

/* What a thread did from `from_ns` to `to_ns`, the time of one stay, piece by piece in the order of time. What was seen before or after that only may have
 * been of another request: it is not told. */
typedef void request_work_fn(void *ctx, int64_t from_ns, int64_t to_ns, enum request_doing doing, uint32_t place);
void request_work_pieces(const struct request_work *w, uint32_t tid, int64_t from_ns, int64_t to_ns, request_work_fn *piece, void *ctx);

/* The first span of a thread that ends after `at_ns`. */
size_t request_work_span_after(const struct request_work *w, uint32_t tid, int64_t at_ns);

/* Its samples of CPU time in that time: the first one's place, and how many. */
size_t request_work_samples(const struct request_work *w, uint32_t tid, int64_t from_ns, int64_t to_ns, size_t *count);

/* The first stop that ends after `at_ns`. */
size_t request_work_stop_after(const struct request_work *w, int64_t at_ns);

#endif
