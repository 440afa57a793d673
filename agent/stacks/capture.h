/* What a CPU profiling session collected: the seam between collecting (sampler, names) and analysis (report). Built by one
 * thread, then read-only. Bounded: CAPTURE_MAX_*; what does not fit is counted in `dropped`. */
#ifndef DRDOTNET_CAPTURE_H
#define DRDOTNET_CAPTURE_H

#include "agent/symbols/frame.h"
#include "agent/symbols/source_lines.h"
#include "agent/report/session_facts.h"
#include "common/link/link_msg.h"

#include <stdbool.h>
#include <stdint.h>

#define CAPTURE_MAX_DEPTH 512
#define CAPTURE_MAX_STACKS (1u << 18)
#define CAPTURE_MAX_STACK_FRAMES (1u << 22) /* of all stacks together */
#define CAPTURE_MAX_SAMPLES (1u << 21)

/* Why callers may be missing from a sample's stack. */
enum stack_gap {
	STACK_GAP_DEEP,      /* the stack is deeper than the copy of its top: the rest is what frame pointers tell */
	STACK_GAP_CODE,      /* the code could not be read, or not be understood */
	STACK_GAP_BROKEN,    /* what lay on the stack led nowhere */
	STACK_GAP_ROOM,      /* there was no room to wait for the code's beginning */
	STACK_GAP_REGISTERS, /* the kernel gave no registers */
	STACK_GAP_COUNT,
};

struct capture_stack {   /* leaf first; indexes into frames */
	uint32_t first;      /* into stack_frames */
	uint32_t depth;
	bool truncated;      /* the kernel cut it (perf_event_max_stack), or the walk broke before the thread's start */
};

struct capture_thread {
	int64_t tid;         /* as the process sees it (inner) when known, else the agent's view */
	char name[64];       /* comm, raw bytes from the kernel: outside text */
	int64_t cpu_ns;      /* the kernel's own CPU time of the thread during the session; -1: unknown */
};

struct capture_sample {
	int64_t time_ns;     /* since the session's first moment */
	uint32_t thread, stack; /* indexes */
};

/* A garbage collection that ran on the thread that needed memory, while the application stood. */
struct capture_collection {
	int64_t start_ns, end_ns; /* since the session's first moment */
	int64_t tid;              /* as in capture_thread */
	int generation;           /* the oldest collected */
};

struct capture_start_wait { /* of the main thread until the port listens, or of a thread of the pool while the main thread waits for a task */
	const char *kind, *what; /* agent/waits/wait_kind.h; static */
	char *method;            /* of the application, its innermost, as shown; NULL: none is on the stack */
	char peer[64];           /* "10.0.3.7:5432"; "": none, or it is not known */
	bool other;              /* of a thread of the pool */
	int64_t ns;
};

struct capture_span { /* since the session's first moment */
	int64_t from_ns, to_ns;
};

/* Of a session that began with its container or process: what was seen when, since its control group appeared or it was started; 0: not seen. */
struct capture_start {
	bool known;
	bool launched;       /* the process was started for the session */
	int64_t runtime_ns;  /* .NET's runtime in the process */
	int64_t attached_ns; /* the runtime could be asked for names */
	int64_t listens_ns;  /* a TCP port that the process listens on */
	int port;
	int64_t main_tid;    /* as in capture_thread */
	/* What the main thread waited for at looks until the port listened, or the session ended; looked.to_ns 0: it was not looked at. */
	struct capture_span looked;
	struct capture_start_wait *waits; /* most first */
	size_t wait_count, wait_cap;
	int64_t idle_ns;     /* the main thread had nothing to do but to wait for the end */
	int64_t ready_ns;    /* it could run, and had no CPU; -1: not known */
	struct capture_span *awaits; /* it waited for a task: others do the work, by time */
	size_t await_count;
};

struct cpu_capture {
	/* what was asked and how it was done */
	int64_t frequency_hertz;
	const char *method;         /* "perf-thread", "perf-cpu", "signal-timer" */
	bool kernel_frames;         /* kernel stacks were allowed */
	const char *fallback_reason; /* why not perf events; NULL */
	char *fallback_message;
	struct session_facts facts;

	struct frame *frames;
	size_t frame_count, frame_cap;
	uint32_t *stack_frames;
	size_t stack_frame_count, stack_frame_cap;
	struct capture_stack *stacks;
	size_t stack_count, stack_cap;
	struct capture_thread *threads;
	size_t thread_count, thread_cap;
	struct capture_sample *samples;  /* by time */
	size_t sample_count, sample_cap;
	struct capture_collection *collections; /* by their ends; they do not overlap */
	size_t collection_count;

	/* the machine's and container's word */
	int64_t process_cpu_ns;      /* of the process during the session, from the kernel; -1 */
	int64_t cpu_limit_millicores; /* cgroup quota; 0: no limit; -1: not known */
	int64_t node_cpus;
	int64_t throttled_periods, total_periods, throttled_ns; /* during the session; -1: unknown */

	struct capture_start start;

	/* honesty */
	int64_t lost_samples;        /* by the kernel */
	int64_t dropped;             /* by our bounds */
	bool exact_stacks;           /* stacks by each function's code; else by frame pointers alone */
	int64_t stack_gaps[STACK_GAP_COUNT]; /* samples; exact_stacks only */
	struct source_account sources; /* which symbols told the lines; none were there: no frame has a line */
	int64_t unresolved_frames, managed_frames; /* of managed candidates, how many stayed unnamed / were named */
};

void cpu_capture_fini(struct cpu_capture *c);

/* The samples that were due by the CPU time that the process used; -1: not known (also where the kernel's part of it is not sampled). */
int64_t cpu_capture_due(const struct cpu_capture *c);
/* What came is so far below what was due that it may not be what the process did: no verdict on it. */
bool cpu_capture_too_few(const struct cpu_capture *c);
/* Samples from whose stacks callers may be missing. */
int64_t cpu_capture_incomplete(const struct cpu_capture *c);

/* Building. All return indexes; frame and stack are interned (equal ones give the same index). UINT32_MAX when full
 * (and `dropped` is counted). */
struct capture_builder;      /* hash tables for interning */
struct capture_builder *capture_builder_new(struct cpu_capture *into);
void capture_builder_free(struct capture_builder *b);
uint32_t capture_add_frame(struct capture_builder *b, const struct frame *f); /* strings are copied */
uint32_t capture_add_stack(struct capture_builder *b, const uint32_t *frames_leaf_first, size_t depth, bool truncated);
uint32_t capture_add_thread(struct capture_builder *b, int64_t tid, const char *name);
int capture_add_sample(struct capture_builder *b, int64_t time_ns, uint32_t thread, uint32_t stack);


/* Takes the garbage collections that the library has told of, all that it has told of so far; those that are there already stay. */
struct channel_collection;
void capture_set_collections(struct cpu_capture *c, const struct channel_collection *list, size_t count, int64_t started_ns);

#endif
