/* The tree of a profile of stacks in its report.json: columns of the nodes in preorder, the root first (docs/report-schema.md). One thread;
 * failures are kept in the file. */
#ifndef DRDOTNET_REPORT_TREE_H
#define DRDOTNET_REPORT_TREE_H

#include "agent/report/report_file.h"
#include "agent/stacks/stack_tree.h"

/* ,"tree":{"parent":[...],"method":[...],"self":[...],"total":[...]} and, where there are any, "objects": of each node, by its index in t->nodes. */
void report_tree_json(struct report_file *f, const struct stack_tree *t, const uint64_t *objects);

#endif
