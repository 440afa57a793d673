#include "agent/profilers/stucktasks/task_brief.h"

#include "agent/profilers/stucktasks/task_chain.h"
#include "common/base/mem.h"

#include <stdlib.h>

static int word_order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static int semaphore_by_address(const void *a, const void *b)
{
	const struct task_semaphore *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

#define KEYS_AT_ONCE 32768
#define GROUPS_MAX ((size_t)1 << 20) /* of what is counted; of what is beyond, no count is known */

struct key_counter {
	uint64_t keys[KEYS_AT_ONCE];
	size_t count;
};

static void put_group(struct task_brief_group *groups, size_t *count, uint64_t key, uint64_t more)
{
	if (*count && groups[*count - 1].key == key)
		groups[*count - 1].count += more;
	else if (*count < GROUPS_MAX)
		groups[(*count)++] = (struct task_brief_group){key, more};
}

/* The keys that have gathered, sorted, join those that were counted. */
static void merge_keys(struct task_brief *b, struct key_counter *k)
{
	struct task_brief_group *merged = mem_alloc((b->group_count + k->count + 1) * sizeof *merged);
	size_t count = 0, old = 0;
	qsort(k->keys, k->count, sizeof *k->keys, word_order);
	for (size_t i = 0; i < k->count; i++) {
		for (; old < b->group_count && b->groups[old].key <= k->keys[i]; old++)
			put_group(merged, &count, b->groups[old].key, b->groups[old].count);
		put_group(merged, &count, k->keys[i], 1);
	}
	for (; old < b->group_count; old++)
		put_group(merged, &count, b->groups[old].key, b->groups[old].count);
	free(b->groups);
	b->groups = merged;
	b->group_count = count;
	k->count = 0;
}

/* Of operations in the order of their addresses: their marks rise, but where addresses use all of their bits. */
static void brief_operations(const struct task_look *l, struct task_brief *out)
{
	struct key_counter *k = mem_calloc(1, sizeof *k);
	bool sorted = true;
	size_t count = 0;
	for (uint32_t i = 0; i < l->count; i++)
		count += task_look_is_last(l, i);
	out->marks = mem_alloc((count + 1) * sizeof *out->marks);
	for (uint32_t i = 0; i < l->count && out->mark_count < count; i++) {
		if (!task_look_is_last(l, i))
			continue;
		uint64_t mark = task_chain_mark(l, i);
		sorted = sorted && (!out->mark_count || out->marks[out->mark_count - 1] <= mark);
		out->marks[out->mark_count++] = mark;
		k->keys[k->count++] = task_chain_key(l, i);
		if (k->count == KEYS_AT_ONCE)
			merge_keys(out, k);
	}
	merge_keys(out, k);
	free(k);
	if (!sorted)
		qsort(out->marks, out->mark_count, sizeof *out->marks, word_order);
}

void task_brief_make(const struct task_look *l, struct task_brief *out)
{
	*out = (struct task_brief){0};
	brief_operations(l, out);
	out->semaphores = mem_calloc(l->semaphore_count + 1, sizeof *out->semaphores);
	for (size_t i = 0; i < l->semaphore_count; i++)
		if (l->semaphores[i].head && l->semaphores[i].count == 0)
			out->semaphores[out->semaphore_count++] = l->semaphores[i];
	qsort(out->semaphores, out->semaphore_count, sizeof *out->semaphores, semaphore_by_address);
	out->faults = mem_calloc(l->fault_count + 1, sizeof *out->faults);
	for (; out->fault_count < l->fault_count; out->fault_count++)
		out->faults[out->fault_count] = l->faults[out->fault_count].address;
	qsort(out->faults, out->fault_count, sizeof *out->faults, word_order);
}

void task_brief_fini(struct task_brief *b)
{
	free(b->marks);
	free(b->groups);
	free(b->semaphores);
	free(b->faults);
	*b = (struct task_brief){0};
}
