/* The tree of a profile of stacks in its report.json: columns of the nodes in preorder, the root first (docs/report-schema.md). All nodes are there:
 * the page shows what it finds here. One thread; failures are kept in the file. */
#ifndef DRDOTNET_REPORT_TREE_H
#define DRDOTNET_REPORT_TREE_H

#include "agent/report/report_file.h"
#include "agent/stacks/cpu_analysis.h"

#define REPORT_TREE_TIMES_MAX 200000 /* entries of "leavesOverTime": some 1.5 MB of JSON, 0.5 MB packed in the page */

/* "tree":{"parent":[...],"method":[...],"self":[...],"total":[...]} and, where there are any, "objects": of each node, by its index in t->nodes. */
void report_tree_json(struct report_file *f, const struct stack_tree *t, const uint64_t *objects);

/* "leaves":{"node":[...],"thread":[...],"weight":[...]}: what of which thread ends where, by node, then by thread. A thread is its place in
 * the analysis's thread_order, which is that in "threads". */
void report_tree_leaves(struct report_file *f, const struct cpu_analysis *a);

/* What a profiler adds to a method; NULL: nothing. */
typedef void report_method_fn(const void *ctx, size_t method, struct report_file *f);

/* "methods":[{"name":...,"module":...,"layer":...,"self":...,"total":...,...,"marks":[...]}], in the order that nodes have their numbers of. */
void report_tree_methods(struct report_file *f, const struct cpu_analysis *a, report_method_fn *more, const void *ctx);

/* "stack":[...]: the names of the methods from the node upwards, so many at most. */
void report_tree_stack(struct json_writer *w, const struct cpu_analysis *a, uint32_t node, int most);

struct report_tree_time { /* what of one part of the duration ends in one node */
	uint32_t node;    /* place in preorder */
	uint32_t bucket;
	uint64_t weight;
};

/* "leavesOverTime":{"node":[...],"bucket":[...],"weight":[...]}; null where these are more than REPORT_TREE_TIMES_MAX. Sorts and joins the list. */
void report_tree_times(struct report_file *f, struct report_tree_time *list, size_t count);

/* Beside the tree, what all such profiles have. */

/* "threads":[{"tid":...,"name":...,KEY:...,"percent":...}]: each with its weight, and how much that is of `all`. */
void report_tree_threads(struct report_file *f, const struct cpu_analysis *a, const char *key, double all);

/* "timeline":{"bucketSeconds":...,KEY:[...]}. */
void report_tree_timeline(struct report_file *f, const struct cpu_analysis *a, const char *key, const double values[CPU_TIMELINE_BUCKETS], int decimals);

/* "collections":{...}: those of the capture. */
void report_tree_collections(struct report_file *f, const struct cpu_analysis *a);

#endif
