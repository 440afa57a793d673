/* The dominator tree in a form that can be read: nodes of one type below one node are one node, roots of one name are one holder.
 *
 *	[the heap]
 *	  static Shop.Cache._items                 a holder
 *	    Dictionary<int, Order>
 *	      Entry[]
 *	        Shop.Order x 1,000,000
 *	  held by several roots                    objects that no holder holds alone
 *	    Shop.Customer
 *
 * An object that several roots hold directly belongs to the most lasting of them, statics first and stacks last. (Stacks take nothing from
 * lasting roots at all where the graph was made with lasting_first.)
 *
 * A type that holds itself (a list, a tree) is one node, however deep, and what is below its objects hangs there: each object is in
 * one node. Nothing recurses, and the tree is as deep as there are types on a way, at most SURVIVORS_MAX_DEPTH. Node 0 is the heap;
 * children come after their parents. Pure; one thread. */
#ifndef DRDOTNET_SURVIVORS_TREE_H
#define DRDOTNET_SURVIVORS_TREE_H

#include "agent/heap/heap_graph.h"

#define SURVIVORS_MAX_DEPTH 64
#define SURVIVORS_MAX_NODES (1u << 20) /* past that many, what is deeper counts in its parent */

enum survivors_kind { /* the most lasting first */
	SURVIVORS_STATIC,
	SURVIVORS_THREAD_STATIC,
	SURVIVORS_HANDLE,
	SURVIVORS_PINNED_HANDLE,
	SURVIVORS_DEPENDENT_HANDLE,
	SURVIVORS_FINALIZER,
	SURVIVORS_STACK,
	SURVIVORS_OTHER,
	SURVIVORS_SEVERAL, /* by no holder alone */
	SURVIVORS_UNKNOWN, /* by no root that was looked for */
	SURVIVORS_KINDS,
	SURVIVORS_OBJECTS, /* of a node: no root, but objects */
};
const char *survivors_kind_name(enum survivors_kind k);  /* "threadStatic" */
const char *survivors_kind_title(const struct heap_snapshot *s, enum survivors_kind k); /* "thread statics" */
enum survivors_kind survivors_kind_of(const struct heap_root *r);

struct survivors_node {
	uint32_t parent, first, next;  /* first child and next sibling by falling retained bytes; 0: none */
	uint32_t type;                 /* of objects, index of the snapshot's types; else HEAP_NODE_NONE */
	uint32_t depth;
	enum survivors_kind kind;
	const char *label;             /* of a holder; NULL: objects */
	uint64_t objects, bytes;       /* the node's own; of a holder: its roots, 0 bytes */
	uint64_t retained, retained_objects; /* of the node and all below */
};

struct survivors_tree {
	struct survivors_node *nodes;
	uint32_t count;
	uint32_t several, unknown;     /* their nodes; 0: there is no such object */
	uint64_t folded;               /* objects that count in a node of another type, past SURVIVORS_MAX_NODES */
};

void survivors_tree_make(const struct heap_graph *g, struct survivors_tree *out);
void survivors_tree_none(struct survivors_tree *out); /* the heap alone */
void survivors_tree_fini(struct survivors_tree *t);

/* What a node is called: its holder's label, else its type's name. */
const char *survivors_tree_name(const struct survivors_tree *t, const struct heap_snapshot *s, uint32_t node);

/* The nodes that retain at least `least` bytes, in preorder, the heap first; at most max. Returns how many. `out` has room for max. */
uint32_t survivors_tree_preorder(const struct survivors_tree *t, uint64_t least, uint32_t *out, uint32_t max);

#endif
