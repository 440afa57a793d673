#include "agent/profilers/stucktasks/task_awaited.h"

#include "common/base/mem.h"

#include <stdlib.h>

#define SOUGHT_MAX ((size_t)1 << 22)

struct sought { /* an object whose type is wanted */
	uint64_t address;
	uint32_t node;
	bool machine;
};

struct sought_list {
	struct sought *items;
	size_t count, cap;
};

static void seek_object(struct sought_list *list, uint64_t address, uint32_t node, bool machine)
{
	if (list->count == SOUGHT_MAX)
		return;
	GROW(list->items, list->count, list->cap);
	list->items[list->count++] = (struct sought){address, node, machine};
}

static bool waits_unknown(const struct task_look *l, uint32_t node)
{
	return node != TASK_NONE && task_look_kind(l, node)->role == TASK_ROLE_BOX && l->nodes[node].awaits == TASK_NONE &&
	       (task_look_kind(l, node)->state >= 0 || task_look_kind(l, node)->state == TASK_STATE_UNKNOWN || task_look_kind(l, node)->state == -4);
}

static void read_awaiters(struct task_look *l, uint32_t node, struct heap_cursor *c, struct sought_list *out)
{
	const struct task_type *t = &l->types[c->object.type];
	uint64_t offset, target;
	while (heap_cursor_edge(c, &offset, &target)) {
		if (t->role == TASK_ROLE_BOX && offset == t->second)
			seek_object(out, target, node, true);
		for (uint8_t i = 0; i < t->awaited_count; i++) {
			if (t->awaited[i] != offset || l->nodes[node].awaits != TASK_NONE)
				continue;
			uint32_t to = task_look_find(l, target);
			if (to != TASK_NONE && to != node)
				l->nodes[node].awaits = to;
			else
				seek_object(out, target, node, false);
		}
	}
}

static int sought_by_address(const void *a, const void *b)
{
	const struct sought *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static size_t find_sought(const struct sought_list *list, uint64_t address)
{
	size_t low = 0, high = list->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (list->items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A state machine's awaiters are read, too; of what else was sought only the type is. */
static void read_sought(struct task_look *l, const struct sought_list *list, struct sought_list *next)
{
	struct heap_cursor c;
	heap_snapshot_cursor(l->snapshot, &c);
	while (heap_snapshot_object(&c)) {
		struct heap_cursor at_object = c;
		for (size_t i = find_sought(list, c.object.address); i < list->count && list->items[i].address == c.object.address; i++) {
			struct heap_cursor again = at_object;
			if (list->items[i].machine) {
				read_awaiters(l, list->items[i].node, &again, next);
				continue;
			}
			GROW(l->others, l->other_count, l->other_cap);
			l->others[l->other_count++] = (struct task_awaited){list->items[i].node, c.object.type};
		}
	}
}

static int awaited_by_node(const void *a, const void *b)
{
	const struct task_awaited *x = a, *y = b;
	return (x->node > y->node) - (x->node < y->node);
}

uint32_t task_awaited_type(const struct task_look *l, uint32_t node)
{
	const struct task_awaited key = {.node = node};
	if (l->nodes[node].awaits != TASK_NONE)
		return task_look_kind(l, l->nodes[node].awaits)->type;
	const struct task_awaited *hit = l->other_count ? bsearch(&key, l->others, l->other_count, sizeof key, awaited_by_node) : NULL;
	return hit ? hit->type : TASK_NONE;
}

void task_awaited_find(struct task_look *l)
{
	struct sought_list list = {0};
	struct heap_cursor c;
	heap_snapshot_cursor(l->snapshot, &c);
	while (heap_snapshot_object(&c)) {
		if (l->types[c.object.type].role != TASK_ROLE_BOX)
			continue;
		uint32_t node = task_look_find(l, c.object.address);
		if (waits_unknown(l, node))
			read_awaiters(l, node, &c, &list);
	}
	for (int i = 0; i < 2 && list.count; i++) { /* state machines first, then what they wait for */
		struct sought_list next = {0};
		qsort(list.items, list.count, sizeof *list.items, sought_by_address);
		read_sought(l, &list, &next);
		free(list.items);
		list = next;
	}
	free(list.items);
	if (l->other_count)
		qsort(l->others, l->other_count, sizeof *l->others, awaited_by_node);
}
