#include "agent/profilers/stucktasks/task_links.h"

#include "agent/profilers/stucktasks/task_nodes.h"
#include "common/base/mem.h"

#include <stdlib.h>

#define ROUNDS 6 /* links between a task and who goes on: a list, its array, a wrapper, a delegate, another wrapper */
#define LEADS_MAX ((size_t)1 << 22)
#define STEPS_MAX ((uint64_t)1 << 27) /* a list of many that many share would take for ever */

/* An object that is not a task and is to be looked into. */
struct lead {
	uint64_t address;
	uint32_t from;     /* node */
	bool machine;      /* it is the node's state machine: only its type is wanted */
};

struct leads {
	struct lead *items;
	size_t count, cap;
	uint64_t steps; /* made to find them */
};

static void add_lead(struct leads *l, uint64_t address, uint32_t from, bool machine)
{
	if (l->count == LEADS_MAX)
		return;
	GROW(l->items, l->count, l->cap);
	l->items[l->count++] = (struct lead){address, from, machine};
}

static int lead_by_address(const void *a, const void *b)
{
	const struct lead *x = a, *y = b;
	return x->address != y->address ? (x->address > y->address) - (x->address < y->address) : (x->from > y->from) - (x->from < y->from);
}

/* The first of those at this address; the count when there is none. */
static size_t find_lead(const struct leads *l, uint64_t address)
{
	size_t low = 0, high = l->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (l->items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < l->count && l->items[low].address == address ? low : l->count;
}

/* Of several that go on, the first is the caller that is shown; each of them waits for the task. Of several that one waits for, a timer comes first: it
 * will not wait for ever. */
static void join_nodes(struct task_look *l, uint32_t from, uint32_t to)
{
	if (from == to)
		return;
	if (l->nodes[from].next == TASK_NONE)
		l->nodes[from].next = to;
	if (l->nodes[to].awaits == TASK_NONE || l->types[task_look_kind(l, from)->type].wait == TASK_WAIT_TIMER)
		l->nodes[to].awaits = from;
}

static void lead_on(struct task_look *l, struct leads *next, uint32_t from, uint64_t target)
{
	uint32_t to = next->steps++ < STEPS_MAX ? task_look_find(l, target) : from;
	if (to != TASK_NONE)
		join_nodes(l, from, to);
	else
		add_lead(next, target, from, false);
}

static void add_behind(struct task_queue *q, uint32_t node, uint32_t next)
{
	if (next == TASK_NONE)
		return;
	GROW(q->items, q->count, q->cap);
	q->items[q->count++] = (struct task_behind){node, next};
}

static void read_node(struct task_look *l, uint32_t node, struct heap_cursor *c, struct leads *next, struct task_queue *q)
{
	const struct task_type *t = &l->types[c->object.type];
	uint64_t offset, target;
	while (heap_cursor_edge(c, &offset, &target)) {
		if (offset == t->next)
			lead_on(l, next, node, target);
		else if (offset == t->action && t->role == TASK_ROLE_PROMISE)
			l->nodes[node].flags |= TASK_WORKS;
		else if (offset == t->second && t->role == TASK_ROLE_BOX)
			add_lead(next, target, node, true);
		else if (offset == t->second && !t->runtime_async)
			add_behind(q, node, task_look_find(l, target));
	}
}

static void read_all_nodes(struct task_look *l, struct leads *next, struct task_queue *q)
{
	struct heap_cursor c;
	heap_snapshot_cursor(l->snapshot, &c);
	while (heap_snapshot_object(&c)) {
		enum task_role r = l->types[c.object.type].role;
		uint32_t node = r == TASK_ROLE_BOX || r == TASK_ROLE_PROMISE || r == TASK_ROLE_SOURCE ? task_look_find(l, c.object.address) : TASK_NONE;
		if (node != TASK_NONE)
			read_node(l, node, &c, next, q);
	}
}

/* What stands between leads on. */
static void read_link(struct task_look *l, const struct leads *now, size_t at, struct heap_cursor *c, struct leads *next)
{
	const struct task_type *t = &l->types[c->object.type];
	uint64_t offset, target;
	while (heap_cursor_edge(c, &offset, &target)) {
		if ((t->role != TASK_ROLE_LINKS && offset != t->next) || next->steps >= STEPS_MAX)
			continue;
		for (size_t i = at; i < now->count && now->items[i].address == c->object.address; i++)
			if (!now->items[i].machine)
				lead_on(l, next, now->items[i].from, target);
	}
}

static bool is_machine(const struct heap_type *t)
{
	return t->raw && task_type_counts_awaits(t->raw);
}

static void read_lead(struct task_look *l, const struct leads *now, size_t at, struct heap_cursor *c, struct leads *next)
{
	enum task_role role = l->types[c->object.type].role;
	for (size_t i = at; i < now->count && now->items[i].address == c->object.address; i++) {
		uint32_t from = now->items[i].from;
		if (now->items[i].machine && !is_machine(&l->snapshot->types[c->object.type])) {
			continue;
		} else if (now->items[i].machine) {
			uint32_t source = task_look_find(l, c->object.address);
			const struct task_kind *was = task_look_kind(l, from);
			task_nodes_set_kind(l, from, (struct task_kind){.type = c->object.type, .method = was->method, .state = was->state, .role = was->role});
			if (source != TASK_NONE) /* an async iterator: who goes on is known to the iterator, not to the box that drives it */
				join_nodes(l, from, source);
		}
		else if (role == TASK_ROLE_BLOCKER)
			l->nodes[from].flags |= TASK_BLOCKS;
		else if (role == TASK_ROLE_NONE)
			l->unlinked++;
	}
	if (role == TASK_ROLE_LINK || role == TASK_ROLE_LINKS)
		read_link(l, now, at, c, next);
}

static void follow_leads(struct task_look *l, struct leads *leads)
{
	for (int i = 0; i < ROUNDS && leads->count; i++) {
		struct leads next = {0};
		struct heap_cursor c;
		qsort(leads->items, leads->count, sizeof *leads->items, lead_by_address);
		heap_snapshot_cursor(l->snapshot, &c);
		while (heap_snapshot_object(&c)) {
			size_t at = find_lead(leads, c.object.address);
			if (at < leads->count)
				read_lead(l, leads, at, &c, &next);
		}
		free(leads->items);
		*leads = next;
	}
	free(leads->items);
	*leads = (struct leads){0};
}

static int behind_by_node(const void *a, const void *b)
{
	const struct task_behind *x = a, *y = b;
	return (x->node > y->node) - (x->node < y->node);
}

uint32_t task_queue_next(const struct task_queue *q, uint32_t node)
{
	const struct task_behind key = {.node = node};
	const struct task_behind *hit = q->count ? bsearch(&key, q->items, q->count, sizeof key, behind_by_node) : NULL;
	return hit ? hit->next : TASK_NONE;
}

void task_queue_fini(struct task_queue *q)
{
	free(q->items);
	*q = (struct task_queue){0};
}

void task_links_follow(struct task_look *l, struct task_queue *queue)
{
	struct leads leads = {0};
	*queue = (struct task_queue){0};
	read_all_nodes(l, &leads, queue);
	if (queue->count)
		qsort(queue->items, queue->count, sizeof *queue->items, behind_by_node);
	follow_leads(l, &leads);
}
