#include "agent/profilers/stucktasks/task_look.h"

#include "agent/profilers/stucktasks/task_awaited.h"
#include "agent/profilers/stucktasks/task_links.h"
#include "agent/profilers/stucktasks/task_nodes.h"
#include "agent/profilers/stucktasks/task_pools.h"
#include "agent/profilers/stucktasks/task_suspended.h"
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

static uint32_t suspended_method_at(const struct task_look *l, const struct heap_cursor *c)
{
	int32_t method = 0;
	heap_cursor_value(c, HEAP_VALUE_METHOD, &method);
	return method >= 0 && (uint32_t)method <= l->snapshot->method_count ? (uint32_t)method : TASK_METHOD_UNKNOWN;
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

static void note_fault(struct task_look *l, struct heap_cursor *c, const struct task_type *t)
{
	struct task_fault f = {.address = c->object.address, .type = TASK_NONE};
	uint64_t offset, target;
	int32_t handled = 1;
	heap_cursor_value(c, HEAP_VALUE_HANDLED, &handled);
	if (handled)
		return;
	while (heap_cursor_edge(c, &offset, &target))
		if (offset == t->next)
			f.task = target;
	GROW(l->faults, l->fault_count, l->fault_cap);
	l->faults[l->fault_count++] = f;
}

static int fault_by_task(const void *a, const void *b)
{
	const struct task_fault *x = a, *y = b;
	return (x->task > y->task) - (x->task < y->task);
}

/* Whose faults they are. */
static void find_failed(struct task_look *l)
{
	struct heap_cursor c;
	if (l->fault_count)
		qsort(l->faults, l->fault_count, sizeof *l->faults, fault_by_task);
	heap_snapshot_cursor(l->snapshot, &c);
	while (l->fault_count && heap_snapshot_object(&c)) {
		const struct task_fault key = {.task = c.object.address};
		enum task_role role = l->types[c.object.type].role;
		struct task_fault *f = role == TASK_ROLE_BOX || role == TASK_ROLE_PROMISE ?
					       bsearch(&key, l->faults, l->fault_count, sizeof key, fault_by_task) : NULL;
		if (f)
			f->type = c.object.type;
	}
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

/* Whether a Continuation is part of one is known later. */
static bool is_operation(struct heap_cursor *c, const struct task_type *t)
{
	if (t->role == TASK_ROLE_SUSPENDED)
		return true;
	return is_task(t->role) && is_unfinished(c, t) && (t->role != TASK_ROLE_SOURCE || source_is_waited_for(c, t));
}

static void find_nodes(struct task_look *l)
{
	struct heap_cursor c;
	heap_snapshot_cursor(l->snapshot, &c);
	while (heap_snapshot_object(&c)) {
		const struct task_type *t = &l->types[c.object.type];
		l->methods |= t->role == TASK_ROLE_BOX || t->role == TASK_ROLE_SUSPENDED;
		if (is_operation(&c, t))
			task_nodes_note(l, c.object.address);
		else
			l->completed += is_task(t->role) && !is_unfinished(&c, t);
	}
	task_nodes_number(l);
}

static void read_kinds(struct task_look *l)
{
	struct heap_cursor c;
	heap_snapshot_cursor(l->snapshot, &c);
	while (heap_snapshot_object(&c)) {
		const struct task_type *t = &l->types[c.object.type];
		bool task = is_task(t->role), suspended = t->role == TASK_ROLE_SUSPENDED;
		uint32_t node = task || suspended ? task_look_find(l, c.object.address) : TASK_NONE;
		if (node == TASK_NONE)
			continue;
		struct task_kind k = {.type = c.object.type, .state = state_at(&c), .role = task ? (uint16_t)t->role : TASK_ROLE_NONE};
		if (suspended)
			k.method = suspended_method_at(l, &c);
		task_nodes_set_kind(l, node, k);
	}
}

static void note_fed(struct task_look *l, struct heap_cursor *c)
{
	uint64_t offset, target;
	while (heap_cursor_edge(c, &offset, &target)) {
		uint32_t node = task_look_find(l, target);
		if (node != TASK_NONE)
			l->nodes[node].flags |= TASK_FED;
	}
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
			note_fault(l, &c, t);
		else if (t->feeds)
			note_fed(l, &c);
	}
}

uint32_t task_look_find(const struct task_look *l, uint64_t address)
{
	uint32_t node = l->count ? heap_index_find(&l->index, address) : HEAP_INDEX_NONE;
	return node == HEAP_INDEX_NONE ? TASK_NONE : node;
}

uint64_t task_look_address(const struct task_look *l, uint32_t node)
{
	return heap_index_address(&l->index, node);
}

uint32_t task_look_leaf(const struct task_look *l, uint32_t node)
{
	uint32_t leaf = TASK_NONE, at = task_look_kind(l, node)->role == TASK_ROLE_BOX ? l->nodes[node].awaits : TASK_NONE;
	for (int i = 0; i < TASK_CHAIN_MAX && at != TASK_NONE && task_look_kind(l, at)->role != TASK_ROLE_BOX; i++) {
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

bool task_look_strange(const struct task_look *l)
{
	return l->unlinked > 0 && !l->methods;
}

bool task_look_is_last(const struct task_look *l, uint32_t node)
{
	if (task_look_kind(l, node)->role != TASK_ROLE_BOX)
		return false;
	uint32_t leaf = task_look_leaf(l, node);
	return leaf == TASK_NONE ? l->nodes[node].awaits == TASK_NONE : l->nodes[leaf].awaits == TASK_NONE;
}

static int waiter_by_node(const void *a, const void *b)
{
	const struct task_waiter *x = a, *y = b;
	return (x->node > y->node) - (x->node < y->node);
}

const struct task_semaphore *task_look_semaphore(const struct task_look *l, uint32_t node)
{
	const struct task_waiter key = {.node = node};
	bool queued = node != TASK_NONE && l->nodes[node].flags & TASK_QUEUED;
	const struct task_waiter *hit = queued ? bsearch(&key, l->waiters, l->waiter_count, sizeof key, waiter_by_node) : NULL;
	return hit ? &l->semaphores[hit->semaphore] : NULL;
}

/* Who waits at each semaphore. */
static void follow_semaphores(struct task_look *l, const struct task_queue *queue)
{
	for (size_t i = 0; i < l->semaphore_count; i++) {
		struct task_semaphore *s = &l->semaphores[i];
		uint32_t at = s->head ? task_look_find(l, s->head) : TASK_NONE;
		while (at != TASK_NONE && !(l->nodes[at].flags & TASK_QUEUED)) {
			s->waiters++;
			l->nodes[at].flags |= TASK_QUEUED;
			GROW(l->waiters, l->waiter_count, l->waiter_cap);
			l->waiters[l->waiter_count++] = (struct task_waiter){at, (uint32_t)i};
			at = task_queue_next(queue, at);
		}
	}
	if (l->waiter_count)
		qsort(l->waiters, l->waiter_count, sizeof *l->waiters, waiter_by_node);
}

void task_look_make(const struct heap_snapshot *s, struct task_look *out)
{
	struct task_queue queue;
	*out = (struct task_look){.snapshot = s, .types = mem_calloc((size_t)s->type_count + 1, sizeof *out->types)};
	for (uint32_t i = 0; i < s->type_count; i++)
		task_type_of(&s->types[i], &out->types[i]);
	task_nodes_init(out);
	find_nodes(out);
	read_kinds(out);
	read_others(out);
	find_failed(out);
	task_links_follow(out, &queue);
	task_suspended_join(out);
	follow_semaphores(out, &queue);
	task_awaited_find(out);
	task_pools_find(out);
	task_queue_fini(&queue);
}

void task_look_fini(struct task_look *l)
{
	free(l->types);
	task_nodes_fini(l);
	task_pools_fini(l);
	free(l->semaphores);
	free(l->faults);
	free(l->others);
	free(l->waiters);
	*l = (struct task_look){0};
}
