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
	return node != TASK_NONE && l->nodes[node].role == TASK_ROLE_PROMISE && l->nodes[node].awaits == TASK_NONE &&
	       !(l->nodes[node].flags & TASK_WORKS) && l->types[l->nodes[node].type].wait == TASK_WAIT_COMPLETION;
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

/* Most references lead elsewhere. */
static void find_bounds(const struct holding *h, uint64_t *lowest, uint64_t *highest)
{
	const struct task_look *l = h->l;
	*lowest = UINT64_MAX;
	*highest = 0;
	for (size_t i = 0; i < l->count; i++) {
		if (!is_completion(l, (uint32_t)i))
			continue;
		*lowest = l->nodes[i].address < *lowest ? l->nodes[i].address : *lowest;
		*highest = l->nodes[i].address;
	}
	if (!h->sources.count)
		return;
	uint64_t first = h->sources.items[0].address, last = h->sources.items[h->sources.count - 1].address;
	*lowest = first < *lowest ? first : *lowest;
	*highest = last > *highest ? last : *highest;
}

static void read_holders(struct holding *h)
{
	uint64_t offset, target, lowest, highest;
	struct heap_cursor c;
	find_bounds(h, &lowest, &highest);
	heap_snapshot_cursor(h->l->snapshot, &c);
	while (heap_snapshot_object(&c))
		while (heap_cursor_edge(&c, &offset, &target))
			if (target >= lowest && target <= highest)
				mark_held(h, target, c.object.address);
}

void task_holders_find(struct task_look *l)
{
	struct holding h = {.l = l};
	find_owned(l, &h.sources, &h.machines);
	read_holders(&h);
	for (size_t i = 0; i < l->snapshot->root_count; i++) {
		const struct heap_root *r = &l->snapshot->roots[i];
		if (!(r->flags & HEAP_ROOT_WEAK))
			mark_held(&h, r->object, 0);
		if (r->second)
			mark_held(&h, r->second, 0);
	}
	l->holders_known = !l->snapshot->facts.roots_unread;
	free(h.sources.items);
	free(h.machines.items);
}
