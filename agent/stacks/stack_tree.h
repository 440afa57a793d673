/* A prefix tree of stacks with counts (of samples, of bytes): the top-down view of a profile. Built root first, node by node; finished once,
 * then read-only. Nothing recurses: stacks may be as deep as they like. One thread. */
#ifndef DRDOTNET_STACK_TREE_H
#define DRDOTNET_STACK_TREE_H

#include <stddef.h>
#include <stdint.h>

#define STACK_TREE_ROOT 0
#define STACK_TREE_NONE UINT32_MAX
#define STACK_TREE_MAX_NODES (1u << 19) /* 28 MB; a busy web server's minute has some 50,000 */

struct stack_node {
	uint32_t parent, method; /* of the root: STACK_TREE_NONE */
	uint32_t first_child, next_sibling; /* after finishing: by falling total */
	uint32_t depth;          /* of the root: 0 */
	uint64_t self, total;    /* what the user of the tree counts; total after finishing */
};

struct stack_leaf { /* what of one thread ends in one node: how many, and what they weigh */
	uint32_t node, thread;
	uint64_t count, weight;
};

struct stack_tree {
	struct stack_node *nodes; /* a parent stands before its children */
	size_t count, cap;
	uint32_t *slots;
	size_t slot_count;
	uint32_t *order;          /* nodes in preorder, the root first */
	uint32_t *rank;           /* place of a node in `order` */
};

void stack_tree_init(struct stack_tree *t);
void stack_tree_fini(struct stack_tree *t);

/* The child of `parent` for this method, made when there is none; `parent` itself in a full tree. */
uint32_t stack_tree_child(struct stack_tree *t, uint32_t parent, uint32_t method);

/* Computes totals, sorts siblings and fills order and rank. Once, after all samples were added to `self`. */
void stack_tree_finish(struct stack_tree *t);

#endif
