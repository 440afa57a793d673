#include "agent/profilers/stucktasks/task_suspended.h"

#include "agent/profilers/stucktasks/task_nodes.h"
#include "common/base/mem.h"

#include <stdlib.h>

struct suspended {
	struct task_look *l;
	uint32_t *leads; /* by node: of a task its first Continuation, of a Continuation the next one; TASK_NONE: there is none */
	bool *taken;     /* by node: Continuations of a chain */
};

static bool is_task_of_runtime(const struct task_look *l, uint32_t node)
{
	return l->types[task_look_kind(l, node)->type].runtime_async;
}

static bool is_continuation(const struct task_look *l, uint32_t node)
{
	return l->types[task_look_kind(l, node)->type].role == TASK_ROLE_SUSPENDED;
}

static bool is_method(const struct task_look *l, uint32_t node)
{
	return task_look_kind(l, node)->method != 0;
}

/* Something is suspended there, and it is not known what. */
static bool is_unread(const struct task_look *l, uint32_t node)
{
	uint32_t method = task_look_kind(l, node)->method;
	return method == TASK_METHOD_UNKNOWN || (method && !l->snapshot->methods[method - 1].name[0]);
}

/* A helper knows what it waits for. */
static void read_continuation(struct suspended *s, uint32_t node, struct heap_cursor *c, const struct task_type *t)
{
	uint64_t offset, target;
	while (heap_cursor_edge(c, &offset, &target)) {
		uint32_t to = offset == t->next || offset == t->second ? task_look_find(s->l, target) : TASK_NONE;
		if (to == TASK_NONE)
			continue;
		if (offset == t->second && !is_continuation(s->l, to))
			s->l->nodes[node].awaits = to;
		else if (offset == t->next && is_continuation(s->l, to))
			s->leads[node] = to;
	}
}

/* One that has no Continuation is about to run, or does. */
static void read_runtime_task(struct suspended *s, uint32_t node, struct heap_cursor *c, const struct task_type *t)
{
	uint64_t offset, target;
	while (heap_cursor_edge(c, &offset, &target)) {
		if (offset != t->second)
			continue;
		uint32_t to = task_look_find(s->l, target);
		if (to != TASK_NONE && is_continuation(s->l, to))
			s->leads[node] = to;
		else
			s->l->nodes[node].flags |= TASK_UNREAD;
	}
}

static void read_leads(struct suspended *s)
{
	struct heap_cursor c;
	heap_snapshot_cursor(s->l->snapshot, &c);
	while (heap_snapshot_object(&c)) {
		const struct task_type *t = &s->l->types[c.object.type];
		uint32_t node = t->runtime_async || t->role == TASK_ROLE_SUSPENDED ? task_look_find(s->l, c.object.address) : TASK_NONE;
		if (node == TASK_NONE)
			continue;
		if (t->runtime_async)
			read_runtime_task(s, node, &c, t);
		else
			read_continuation(s, node, &c, t);
	}
}

static void set_box(struct task_look *l, uint32_t node, const struct task_kind *method)
{
	const struct task_kind *was = task_look_kind(l, node);
	task_nodes_set_kind(l, node, (struct task_kind){.type = was->type, .method = method->method, .state = method->state, .role = TASK_ROLE_BOX});
}

/* What waits for the task, and what it waits for, as links tell: the first method waits, the task goes on. */
static void join_first(struct task_look *l, uint32_t task, uint32_t first)
{
	uint32_t awaited = l->nodes[task].awaits;
	l->nodes[first].awaits = awaited;
	if (awaited != TASK_NONE && l->nodes[awaited].next == task)
		l->nodes[awaited].next = first;
}

/* Those from `from` up to `end` are parts of the box `owner`. */
static void give_parts(struct suspended *s, uint32_t from, uint32_t end, uint32_t owner)
{
	for (uint32_t at = from; at != end; at = s->leads[at]) {
		s->l->nodes[at].next = owner;
		s->l->nodes[at].awaits = s->l->nodes[owner].awaits;
	}
}

/* Each Continuation is taken once: circles end, and all chains together take as long as there are Continuations. Returns what comes behind the chain. */
static uint32_t splice_chain(struct suspended *s, uint32_t task, uint32_t *last)
{
	uint32_t at = s->leads[task];
	for (*last = TASK_NONE; at != TASK_NONE && !s->taken[at]; at = s->leads[at]) {
		s->taken[at] = true;
		if (is_method(s->l, at))
			*last = at;
		if (is_unread(s->l, at))
			s->l->nodes[task].flags |= TASK_UNREAD;
	}
	return at;
}

static void join_chain(struct suspended *s, uint32_t task)
{
	struct task_look *l = s->l;
	uint32_t last, head = s->leads[task], end = splice_chain(s, task, &last), from = head, before = TASK_NONE;
	if (head == end)
		return;
	l->nodes[task].flags &= ~(unsigned)TASK_WORKS & 0xff;
	if (l->nodes[task].awaits == TASK_NONE && l->nodes[head].awaits != task)
		l->nodes[task].awaits = l->nodes[head].awaits;
	for (uint32_t at = head; last != TASK_NONE && at != last; at = s->leads[at]) {
		if (!is_method(l, at))
			continue;
		if (before == TASK_NONE)
			join_first(l, task, at);
		else
			l->nodes[at].awaits = before;
		if (before != TASK_NONE)
			l->nodes[before].next = at;
		set_box(l, at, task_look_kind(l, at));
		give_parts(s, from, at, at);
		from = s->leads[at];
		before = at;
	}
	if (before != TASK_NONE) {
		l->nodes[before].next = task;
		l->nodes[task].awaits = before;
	}
	if (last != TASK_NONE)
		set_box(l, task, task_look_kind(l, last));
	give_parts(s, from, end, task);
}

uint32_t task_suspended_box(const struct task_look *l, uint32_t node)
{
	return task_look_kind(l, node)->role == TASK_ROLE_NONE && l->nodes[node].next != TASK_NONE ? l->nodes[node].next : node;
}

void task_suspended_join(struct task_look *l)
{
	struct suspended s = {.l = l, .leads = mem_calloc(l->count + 1, sizeof *s.leads), .taken = mem_calloc(l->count + 1, sizeof *s.taken)};
	for (size_t i = 0; i < l->count; i++)
		s.leads[i] = TASK_NONE;
	read_leads(&s);
	for (uint32_t i = 0; i < l->count; i++)
		if (is_task_of_runtime(l, i))
			join_chain(&s, i);
	free(s.leads);
	free(s.taken);
}
