/* From a CPU capture to what the reports show: methods with self and total times, the merged tree of logical stacks, threads,
 * kinds of work, how busy the process was. Pure; one thread; the result borrows from the capture, which must outlive it.
 *
 * Logical stacks: MoveNext of a state machine is the method that the user wrote, its stub and the builder's Start above it
 * are one frame with it; a method that continues after an await is called by nobody, whoever completed what it waited for;
 * neighbouring frames of a native module without symbols are one frame. Garbage collection and JIT
 * compilation stand below a frame of their own ("[garbage collection]"), where the runtime's part of the stack begins. */
#ifndef DRDOTNET_CPU_ANALYSIS_H
#define DRDOTNET_CPU_ANALYSIS_H

#include "agent/stacks/capture.h"
#include "agent/stacks/cpu_category.h"
#include "agent/stacks/stack_threads.h"
#include "agent/stacks/stack_tree.h"

#define CPU_TIMELINE_BUCKETS 60

struct cpu_method {
	char *name;            /* shown form: agent/symbols/method_name.h */
	char *module;          /* shown form, "" unknown */
	enum cpu_layer layer;
	unsigned marks;        /* enum method_mark */
	uint32_t frame;        /* one of its frames in the capture; UINT32_MAX: made by the analysis */
	uint64_t self, total;  /* samples; recursion counts once */
	uint32_t first_line, line_count; /* in the analysis's lines; most first */
	uint32_t caused[CATEGORY_COUNT]; /* samples whose nearest application method this is, itself included, by what they went to */
};

/* Work that one stack may or may not be part of: told by the thread and the time of a sample. */
enum cpu_work { WORK_PLAIN, WORK_GC, WORK_JIT, WORK_COUNT };

struct cpu_line {              /* of a method, where the symbols tell */
	uint32_t frame;        /* one of the capture's at that line */
	uint64_t self, total;  /* samples: whose leaf is there, or that have called from there; recursion counts once */
};

struct cpu_collections {       /* those that ran on threads of the application */
	uint32_t count, by_generation[3];
	int64_t total_ns, longest_ns;
};

struct cpu_analysis {
	const struct cpu_capture *capture;
	struct cpu_method *methods;
	size_t method_count, method_cap;
	uint32_t *by_self, *by_total; /* all methods, most first; those that nobody can act on last: cpu_analysis_ground() */
	struct stack_tree tree;
	struct cpu_line *lines; /* by method; none where no symbols are */
	size_t line_count;
	uint32_t *frame_methods; /* by capture frame, with lines only; else NULL */
	struct {               /* with lines only: of each of stack_nodes the frames on the node's path, root first, UINT32_MAX for what is none */
		uint32_t *items;
		size_t count, cap;
		uint32_t *first; /* by stack_nodes; STACK_TREE_NONE: not there */
	} paths;
	uint32_t *stack_nodes; /* by capture stack and enum cpu_work: where it ends in the tree; STACK_TREE_NONE: no sample does */
	uint8_t *sample_work;  /* by sample: enum cpu_work */
	uint8_t *sample_category; /* by sample: enum cpu_category */
	struct stack_leaf *leaves; /* samples, by preorder of the node, then by thread */
	size_t leaf_count;
	struct stack_thread *threads; /* as in the capture; weights are samples, CPU times the kernel's or else from samples */
	uint32_t (*thread_categories)[CATEGORY_COUNT]; /* samples of each thread */
	uint32_t *thread_order; /* most samples first */
	uint32_t samples, truncated_samples;
	uint32_t by_category[CATEGORY_COUNT];
	uint32_t timeline[CPU_TIMELINE_BUCKETS]; /* samples by equal parts of the duration */
	int64_t period_ns;     /* CPU time that one sample stands for */
	int64_t cpu_ns;        /* used by the process, by the kernel's word or from the samples */
	double cpus_used, cpus_allowed; /* allowed: the container's limit, or the node's CPUs */
	bool limited;          /* by a quota */
	struct cpu_collections collections;
	uint32_t sampled_threads, busy_threads; /* busy: at least 5% of a CPU */
};

void cpu_analysis_run(const struct cpu_capture *c, struct cpu_analysis *out);
void cpu_analysis_fini(struct cpu_analysis *a);

/* For analyses of other samples, with methods (agent/stacks/cpu_method_table.h) and a finished tree: fills self and total; then, by_self and by_total. */
void cpu_analysis_sum_methods(struct cpu_analysis *a);
void cpu_analysis_order_methods(struct cpu_analysis *a);
/* Sorts the leaves and joins those of one node and one thread. */
void cpu_analysis_join_leaves(struct cpu_analysis *a);
/* And for the capture's collections. */
void cpu_analysis_sum_collections(struct cpu_analysis *a);

/* The CPUs that the process may use: its container's limit, or the node's; NAN: not known. */
double cpu_analysis_allowed(const struct cpu_capture *c);

/* The frames on the path of that node, root first, one for each step; UINT32_MAX: of none. NULL: lines are not known. */
const uint32_t *cpu_analysis_path_frames(const struct cpu_analysis *a, size_t sample);

/* The node of the tree in which a sample of the capture ends. */
uint32_t cpu_analysis_node(const struct cpu_analysis *a, size_t sample);
/* The part of the timeline in which a sample of the capture was taken. */
uint32_t cpu_analysis_bucket(const struct cpu_analysis *a, size_t sample);

/* What an application method makes happen: its own time and what it calls outside the application. GC and JIT are not
 * counted: they come when they come. */
uint32_t cpu_analysis_caused(const struct cpu_method *m);
/* The part of it that is work: in the method itself, .NET's libraries or native ones. */
uint32_t cpu_analysis_worked(const struct cpu_method *m);

/* The runtime's or libc's library where it has no symbols: all stacks stand on it, and it tells nothing of where time goes. */
bool cpu_analysis_ground(const struct cpu_method *m);

/* Percent of the samples. 0 when there are none. */
double cpu_analysis_percent(const struct cpu_analysis *a, uint32_t count);

#endif
