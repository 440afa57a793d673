#include "agent/profilers/stucktasks/task_look.h"

#include "agent/profilers/stucktasks/task_awaited.h"
#include "agent/profilers/stucktasks/task_links.h"
#include "common/base/mem.h"

#include <stdlib.h>

/* Task.m_stateFlags in .NET 8 to 10: ran to completion, canceled, faulted. */
#define COMPLETED_FLAGS 0x1600000

static bool is_task(enum task_role r)
{
	return r == TASK_ROLE_BOX || r == TASK_ROLE_PROMISE || r == TASK_ROLE_SOURCE;
}

/* Unfinished, by what the walk told of the object at the cursor. A box without a task, whose task is another thing, by its state. */
static bool is_unfinished(const struct heap_cursor *c, const struct task_type *t)
{
	int32_t flags = 0, state = 0;
	if (t->role == TASK_ROLE_SOURCE)
		return true;
	if (heap_cursor_value(c, HEAP_VALUE_TASK, &flags))
		return !(flags & COMPLETED_FLAGS);
	return heap_cursor_value(c, HEAP_VALUE_STATE, &state) && state >= -1;
}

static int16_t state_at(const struct heap_cursor *c)
{
	int32_t state = HEAP_STATE_UNKNOWN;
	heap_cursor_value(c, HEAP_VALUE_STATE, &state);
	return state >= -4 && state < INT16_MAX ? (int16_t)state : TASK_STATE_UNKNOWN;
}

static void note_semaphore(struct task_look *l, struct heap_cursor *c, const struct task_type *t)
{
	struct task_semaphore s = {.address = c->object.address};
	uint64_t offset, target;
	heap_cursor_value(c, HEAP_VALUE_COUNT, &s.count);
	heap_cursor_value(c, HEAP_VALUE_MOST, &s.most);
	while (heap_cursor_edge(c, &offset, &target))
		if (offset == t->next)
			s.head = target;
	GROW(l->semaphores, l->semaphore_count, l->semaphore_cap);
	l->semaphores[l->semaphore_count++] = s;
}

static void note_fault(struct task_look *l, const struct heap_cursor *c)
{
	int32_t handled = 1;
	heap_cursor_value(c, HEAP_VALUE_HANDLED, &handled);
	if (handled)
		return;
	GROW(l->faults, l->fault_count, l->fault_cap);
	l->faults[l->fault_count++] = (struct task_fault){c->object.address};
}

/* Sources that nobody waits for are many: only those count that hold somebody who goes on. */
static bool source_is_waited_for(struct heap_cursor *c, const struct task_type *t)
{
	uint64_t offset, target;
	while (heap_cursor_edge(c, &offset, &target))
		if (offset == t->next)
			return true;
	return false;
}

/* `nodes` NULL: they are counted only. */
static size_t read_nodes(struct task_look *l, struct task_node *nodes)
{
	struct heap_cursor c;
	size_t count = 0;
	heap_snapshot_cursor(l->snapshot, &c);
	while (heap_snapshot_object(&c)) {
		const struct task_type *t = &l->types[c.object.type];
		if (!is_task(t->role))
			continue;
		if (!is_unfinished(&c, t)) {
			l->completed += nodes == NULL;
			continue;
		}
		const struct task_node n = {.address = c.object.address, .next = TASK_NONE, .awaits = TASK_NONE, .type = c.object.type,
					    .state = state_at(&c), .role = (uint8_t)t->role};
		if (t->role == TASK_ROLE_SOURCE && !source_is_waited_for(&c, t))
			continue;
		if (nodes)
			nodes[count] = n;
		count++;
	}
	return count;
}

static void read_others(struct task_look *l)
{
	struct heap_cursor c;
	heap_snapshot_cursor(l->snapshot, &c);
	while (heap_snapshot_object(&c)) {
		const struct task_type *t = &l->types[c.object.type];
		if (t->role == TASK_ROLE_SEMAPHORE)
			note_semaphore(l, &c, t);
		else if (t->role == TASK_ROLE_FAULT)
			note_fault(l, &c);
	}
}

static int node_by_address(const void *a, const void *b)
{
	const struct task_node *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

uint32_t task_look_find(const struct task_look *l, uint64_t address)
{
	size_t low = 0, high = l->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (l->nodes[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < l->count && l->nodes[low].address == address ? (uint32_t)low : TASK_NONE;
}

uint32_t task_look_leaf(const struct task_look *l, uint32_t node)
{
	uint32_t leaf = TASK_NONE, at = l->nodes[node].role == TASK_ROLE_BOX ? l->nodes[node].awaits : TASK_NONE;
	for (int i = 0; i < TASK_CHAIN_MAX && at != TASK_NONE && l->nodes[at].role != TASK_ROLE_BOX; i++) {
		leaf = at;
		at = l->nodes[at].awaits;
	}
	return leaf;
}

uint32_t task_look_last_caller(const struct task_look *l, uint32_t node)
{
	for (int i = 0; i < TASK_CHAIN_MAX && l->nodes[node].next != TASK_NONE; i++)
		node = l->nodes[node].next;
	return node;
}

bool task_look_is_last(const struct task_look *l, uint32_t node)
{
	if (l->nodes[node].role != TASK_ROLE_BOX)
		return false;
	uint32_t leaf = task_look_leaf(l, node);
	return leaf == TASK_NONE ? l->nodes[node].awaits == TASK_NONE : l->nodes[leaf].awaits == TASK_NONE;
}

/* Who waits at each semaphore. */
static void follow_semaphores(struct task_look *l, const struct task_queue *queue)
{
	for (size_t i = 0; i < l->semaphore_count; i++) {
		struct task_semaphore *s = &l->semaphores[i];
		uint32_t at = s->head ? task_look_find(l, s->head) : TASK_NONE;
		if (at != TASK_NONE && !l->semaphore_of)
			l->semaphore_of = mem_calloc(l->count + 1, sizeof *l->semaphore_of);
		while (at != TASK_NONE && !l->semaphore_of[at]) {
			s->waiters++;
			l->semaphore_of[at] = (uint32_t)i + 1;
			at = task_queue_next(queue, l, at);
		}
	}
}

void task_look_make(const struct heap_snapshot *s, struct task_look *out)
{
	struct task_queue queue;
	*out = (struct task_look){.snapshot = s, .types = mem_calloc((size_t)s->type_count + 1, sizeof *out->types)};
	for (uint32_t i = 0; i < s->type_count; i++)
		task_type_of(&s->types[i], &out->types[i]);
	out->count = read_nodes(out, NULL);
	if (out->count >= TASK_NONE)
		out->count = TASK_NONE - 1;
	out->nodes = mem_calloc(out->count + 1, sizeof *out->nodes);
	out->count = read_nodes(out, out->nodes);
	if (out->count)
		qsort(out->nodes, out->count, sizeof *out->nodes, node_by_address);
	read_others(out);
	task_links_follow(out, &queue);
	follow_semaphores(out, &queue);
	task_awaited_find(out);
	task_queue_fini(&queue);
}

void task_look_fini(struct task_look *l)
{
	free(l->types);
	free(l->nodes);
	free(l->semaphores);
	free(l->faults);
	free(l->others);
	free(l->semaphore_of);
	*l = (struct task_look){0};
}
