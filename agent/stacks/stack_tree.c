#include "agent/stacks/stack_tree.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

static size_t tree_slot(const struct stack_tree *t, uint32_t parent, uint32_t method)
{
	uint64_t h = ((uint64_t)parent << 32 | method) * 0x9E3779B97F4A7C15u;
	return (size_t)(h >> 32) & (t->slot_count - 1);
}

static uint32_t *find_tree_slot(const struct stack_tree *t, uint32_t parent, uint32_t method)
{
	size_t i = tree_slot(t, parent, method);
	while (t->slots[i] != STACK_TREE_NONE) {
		const struct stack_node *n = &t->nodes[t->slots[i]];
		if (n->parent == parent && n->method == method)
			break;
		i = (i + 1) & (t->slot_count - 1);
	}
	return &t->slots[i];
}

static void grow_tree_slots(struct stack_tree *t)
{
	t->slot_count *= 2;
	t->slots = mem_realloc(t->slots, t->slot_count, sizeof *t->slots);
	memset(t->slots, 0xff, t->slot_count * sizeof *t->slots);
	for (size_t i = 1; i < t->count; i++)
		*find_tree_slot(t, t->nodes[i].parent, t->nodes[i].method) = (uint32_t)i;
}

static uint32_t add_tree_node(struct stack_tree *t, uint32_t parent, uint32_t method, uint32_t depth)
{
	GROW(t->nodes, t->count, t->cap);
	t->nodes[t->count] = (struct stack_node){
		.parent = parent,
		.method = method,
		.first_child = STACK_TREE_NONE,
		.next_sibling = STACK_TREE_NONE,
		.depth = depth,
	};
	return (uint32_t)t->count++;
}

void stack_tree_init(struct stack_tree *t)
{
	*t = (struct stack_tree){.slot_count = 1024};
	t->slots = mem_calloc(t->slot_count, sizeof *t->slots);
	memset(t->slots, 0xff, t->slot_count * sizeof *t->slots);
	add_tree_node(t, STACK_TREE_NONE, STACK_TREE_NONE, 0);
}

void stack_tree_fini(struct stack_tree *t)
{
	free(t->nodes);
	free(t->slots);
	free(t->order);
	free(t->rank);
	*t = (struct stack_tree){0};
}

uint32_t stack_tree_child(struct stack_tree *t, uint32_t parent, uint32_t method)
{
	uint32_t *slot = find_tree_slot(t, parent, method);
	if (*slot != STACK_TREE_NONE)
		return *slot;
	if (t->count >= STACK_TREE_MAX_NODES)
		return parent;
	uint32_t node = add_tree_node(t, parent, method, t->nodes[parent].depth + 1);
	*slot = node;
	if (t->count * 2 > t->slot_count)
		grow_tree_slots(t);
	return node;
}

/* Smaller totals first; among equals the later method first: the lists below are built back to front. */
static int by_total(const void *a, const void *b, void *nodes)
{
	const struct stack_node *x = &((struct stack_node *)nodes)[*(const uint32_t *)a];
	const struct stack_node *y = &((struct stack_node *)nodes)[*(const uint32_t *)b];
	if (x->total != y->total)
		return x->total < y->total ? -1 : 1;
	return x->method < y->method ? 1 : x->method > y->method ? -1 : 0;
}

static void link_tree_children(struct stack_tree *t)
{
	for (size_t i = 0; i < t->count; i++)
		t->order[i] = (uint32_t)i;
	qsort_r(t->order + 1, t->count - 1, sizeof *t->order, by_total, t->nodes);
	for (size_t i = 1; i < t->count; i++) {
		struct stack_node *n = &t->nodes[t->order[i]], *parent = &t->nodes[n->parent];
		n->next_sibling = parent->first_child;
		parent->first_child = t->order[i];
	}
}

static void number_in_preorder(struct stack_tree *t)
{
	uint32_t node = STACK_TREE_ROOT;
	for (uint32_t place = 0; node != STACK_TREE_NONE; place++) {
		t->order[place] = node;
		t->rank[node] = place;
		if (t->nodes[node].first_child != STACK_TREE_NONE) {
			node = t->nodes[node].first_child;
			continue;
		}
		while (node != STACK_TREE_NONE && t->nodes[node].next_sibling == STACK_TREE_NONE)
			node = t->nodes[node].parent;
		if (node != STACK_TREE_NONE)
			node = t->nodes[node].next_sibling;
	}
}

void stack_tree_finish(struct stack_tree *t)
{
	free(t->slots);
	t->slots = NULL;
	for (size_t i = 0; i < t->count; i++)
		t->nodes[i].total = t->nodes[i].self;
	for (size_t i = t->count; i-- > 1;)
		t->nodes[t->nodes[i].parent].total += t->nodes[i].total;
	t->order = mem_calloc(t->count, sizeof *t->order);
	t->rank = mem_calloc(t->count, sizeof *t->rank);
	link_tree_children(t);
	number_in_preorder(t);
}
