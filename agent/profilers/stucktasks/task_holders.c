/* Who can complete what operations wait for: a completion that is referred to by nothing but those that wait for it is completed by nobody. */
#include "agent/profilers/stucktasks/task_holders.h"

#include "common/base/mem.h"

#include <stdlib.h>

struct owned { /* an object that belongs to a node: its TaskCompletionSource, or the state machine of a box */
	uint64_t address;
	uint32_t node;
};

struct owned_list {
	struct owned *items;
	size_t count, cap;
};

static int owned_by_address(const void *a, const void *b)
{
	const struct owned *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static void own_object(struct owned_list *l, uint64_t address, uint32_t node)
{
	GROW(l->items, l->count, l->cap);
	l->items[l->count++] = (struct owned){address, node};
}

static void sort_owned(struct owned_list *l)
{
	if (l->count)
		qsort(l->items, l->count, sizeof *l->items, owned_by_address);
}

static uint32_t owner_of(const struct owned_list *l, uint64_t address)
{
	const struct owned key = {.address = address};
	const struct owned *hit = l->count ? bsearch(&key, l->items, l->count, sizeof key, owned_by_address) : NULL;
	return hit ? hit->node : TASK_NONE;
}

/* A task without code of its own that operations wait for. */
static bool is_completion(const struct task_look *l, uint32_t node)
{
	return node != TASK_NONE && task_look_kind(l, node)->role == TASK_ROLE_PROMISE && l->nodes[node].awaits == TASK_NONE &&
	       !(l->nodes[node].flags & TASK_WORKS) && l->types[task_look_kind(l, node)->type].wait == TASK_WAIT_COMPLETION;
}

/* The sources of completions, and the state machines of those that wait. */
static void find_owned(const struct task_look *l, struct owned_list *sources, struct owned_list *machines)
{
	struct heap_cursor c;
	uint64_t offset, target;
	heap_snapshot_cursor(l->snapshot, &c);
	while (heap_snapshot_object(&c)) {
		const struct task_type *t = &l->types[c.object.type];
		if (t->second == TASK_NO_FIELD || (t->role != TASK_ROLE_COMPLETER && t->role != TASK_ROLE_BOX))
			continue;
		while (heap_cursor_edge(&c, &offset, &target)) {
			if (offset != t->second)
				continue;
			uint32_t node = task_look_find(l, t->role == TASK_ROLE_BOX ? c.object.address : target);
			if (t->role == TASK_ROLE_BOX && node != TASK_NONE)
				own_object(machines, target, node);
			else if (is_completion(l, node))
				own_object(sources, c.object.address, node);
		}
	}
	sort_owned(sources);
	sort_owned(machines);
}

struct holding {
	struct task_look *l;
	struct owned_list sources, machines;
};

/* The completion that the object is, or is the source of. */
static uint32_t completion_at(const struct holding *h, uint64_t address)
{
	uint32_t node = task_look_find(h->l, address);
	return is_completion(h->l, node) ? node : node == TASK_NONE ? owner_of(&h->sources, address) : TASK_NONE;
}

/* By who waits for it, or by itself. */
static bool holds_in_vain(const struct holding *h, uint64_t holder, uint32_t completion)
{
	const uint32_t nodes[] = {task_look_find(h->l, holder), owner_of(&h->machines, holder)};
	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
		if (nodes[i] != TASK_NONE && (nodes[i] == completion || h->l->nodes[nodes[i]].awaits == completion))
			return true;
	return owner_of(&h->sources, holder) == completion;
}

static void mark_held(struct holding *h, uint64_t address, uint64_t holder)
{
	uint32_t completion = completion_at(h, address);
	if (completion != TASK_NONE && (!holder || !holds_in_vain(h, holder, completion)))
		h->l->nodes[completion].flags |= TASK_HELD;
}

/* What stands between a task and who goes on after it keeps nobody: it is kept by the task. Nor does a Continuation of a method that has gone on since: it
 * is garbage, or about to be used again. */
static bool keeps(const struct holding *h, uint64_t holder, uint32_t type, uint32_t last)
{
	uint32_t node = task_look_find(h->l, holder);
	if (node == TASK_NONE)
		node = owner_of(&h->machines, holder);
	if (node == TASK_NONE)
		node = owner_of(&h->sources, holder);
	enum task_role role = h->l->types[type].role;
	if (node != TASK_NONE && role == TASK_ROLE_SUSPENDED && h->l->nodes[node].next == TASK_NONE)
		return false;
	if (node != TASK_NONE)
		return task_look_last_caller(h->l, node) != last;
	return role != TASK_ROLE_LINK && role != TASK_ROLE_LINKS;
}

/* The last caller that the object is, or is the state machine of. */
static uint32_t last_caller_at(const struct holding *h, uint64_t address)
{
	uint32_t node = task_look_find(h->l, address);
	if (node == TASK_NONE)
		node = owner_of(&h->machines, address);
	return node != TASK_NONE && h->l->nodes[node].next == TASK_NONE ? node : TASK_NONE;
}

static void mark_kept(struct holding *h, uint64_t address, uint64_t holder, uint32_t type)
{
	uint32_t last = last_caller_at(h, address);
	if (last != TASK_NONE && !(h->l->nodes[last].flags & TASK_KEPT) && (!holder || keeps(h, holder, type, last)))
		h->l->nodes[last].flags |= TASK_KEPT;
}

static void widen(uint64_t address, uint64_t *lowest, uint64_t *highest)
{
	*lowest = address < *lowest ? address : *lowest;
	*highest = address > *highest ? address : *highest;
}

/* Most references lead elsewhere. */
static void find_bounds(const struct holding *h, uint64_t *lowest, uint64_t *highest)
{
	const struct task_look *l = h->l;
	const struct owned_list *const lists[] = {&h->sources, &h->machines};
	*lowest = UINT64_MAX;
	*highest = 0;
	if (l->count) {
		widen(task_look_address(l, 0), lowest, highest);
		widen(task_look_address(l, l->count - 1), lowest, highest);
	}
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		if (!lists[i]->count)
			continue;
		widen(lists[i]->items[0].address, lowest, highest);
		widen(lists[i]->items[lists[i]->count - 1].address, lowest, highest);
	}
}

static void read_holders(struct holding *h)
{
	uint64_t offset, target, lowest, highest;
	struct heap_cursor c;
	find_bounds(h, &lowest, &highest);
	heap_snapshot_cursor(h->l->snapshot, &c);
	while (heap_snapshot_object(&c)) {
		while (heap_cursor_edge(&c, &offset, &target)) {
			if (target < lowest || target > highest)
				continue;
			mark_held(h, target, c.object.address);
			mark_kept(h, target, c.object.address, c.object.type);
		}
	}
}

/* A word of a stack that may be left over from a call that has returned keeps a completion from being called lost, and is no witness that somebody waits. */
static void read_root(struct holding *h, uint64_t object, unsigned flags)
{
	mark_held(h, object, 0);
	if (!(flags & HEAP_ROOT_CONSERVATIVE))
		mark_kept(h, object, 0, 0);
}

void task_holders_find(struct task_look *l)
{
	struct holding h = {.l = l};
	find_owned(l, &h.sources, &h.machines);
	read_holders(&h);
	for (size_t i = 0; i < l->snapshot->root_count; i++) {
		const struct heap_root *r = &l->snapshot->roots[i];
		if (!(r->flags & HEAP_ROOT_WEAK))
			read_root(&h, r->object, r->flags);
		if (r->second)
			read_root(&h, r->second, r->flags);
	}
	l->holders_known = !l->snapshot->facts.roots_unread;
	free(h.sources.items);
	free(h.machines.items);
}
