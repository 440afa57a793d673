/* A finished profile of stacks as the writers of report files see it, whatever was sampled: two values for each stack and thread, a
 * count and the weight that the flame graph shows. Read-only views. */
#ifndef DRDOTNET_STACK_PROFILE_H
#define DRDOTNET_STACK_PROFILE_H

#include "agent/report/report.h"
#include "agent/stacks/cpu_analysis.h"

#define STACK_PATH_MAX (CAPTURE_MAX_DEPTH + 3)

struct stack_value { /* in the words of pprof */
	const char *type, *unit;
};

/* What of one thread has one stack, line by line. */
struct stack_line_leaf {
	uint32_t node, thread;
	const uint32_t *frames; /* on the node's path, root first, one for each step: UINT32_MAX of none */
	uint64_t count, weight;
};

struct stack_profile {
	const struct stack_tree *tree; /* of weights */
	const struct cpu_method *methods;
	size_t method_count;
	const uint32_t *by_self, *by_total; /* methods */
	const struct frame *frames; /* of the methods */
	const struct stack_thread *threads;
	size_t thread_count;
	const uint32_t *thread_order; /* most first */
	const struct stack_leaf *leaves; /* by preorder of the node, then by thread */
	size_t leaf_count;
	const struct stack_line_leaf *line_leaves; /* the same by lines, where these are known; NULL */
	size_t line_leaf_count;
	const uint32_t *frame_methods; /* with line_leaves: by frame */
	size_t frame_count;
	const struct cpu_line *lines;  /* of the methods; NULL: none are known */
	uint64_t total;               /* weight */
	struct stack_value count_value, weight_value;
	uint64_t scale;               /* of a weight in weight_value's unit */
	uint64_t period;              /* pprof's, in that unit */
	int64_t started_wall_ms, duration_ns;
	const char *subject, *headline;
};

/* What an analysis and its capture have: the tree, its methods and leaves, frames, threads, the total, when and for how long. The rest is zero: the
 * caller adds what the values are, and the words. */
void stack_profile_init(struct stack_profile *p, const struct cpu_analysis *a);

/* The files of a report with the profile in the forms of other tools, for report_files.more: what is given to report_write() begins with a struct
 * stack_profile. */
#define PROFILE_FILES 3 /* profile.pb.gz, stacks.folded, profile.speedscope.json */
extern const struct report_writer profile_files[PROFILE_FILES];

/* The methods from below a node's root to the node, root first, into out[node depth]. Returns how many. */
static inline size_t stack_profile_path(const struct stack_tree *t, uint32_t node, uint32_t *out)
{
	size_t depth = t->nodes[node].depth;
	for (size_t i = depth; i-- > 0; node = t->nodes[node].parent)
		out[i] = t->nodes[node].method;
	return depth;
}

#endif
