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

/* From sorted keys, one for each operation, in place. */
static void count_keys(struct task_brief *b, const uint64_t *keys, size_t count)
{
	size_t groups = 0;
	for (size_t i = 0; i < count; i++)
		groups += i == 0 || keys[i] != keys[i - 1];
	b->groups = mem_calloc(groups + 1, sizeof *b->groups);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || keys[i] != keys[i - 1])
			b->groups[b->group_count++].key = keys[i];
		b->groups[b->group_count - 1].count++;
	}
}

void task_brief_make(const struct task_look *l, struct task_brief *out)
{
	size_t count = 0;
	*out = (struct task_brief){0};
	for (uint32_t i = 0; i < l->count; i++)
		count += task_look_is_last(l, i);
	out->marks = mem_calloc(count + 1, sizeof *out->marks);
	uint64_t *keys = mem_calloc(count + 1, sizeof *keys);
	for (uint32_t i = 0; i < l->count && out->mark_count < count; i++) {
		if (!task_look_is_last(l, i))
			continue;
		keys[out->mark_count] = task_chain_key(l, i);
		out->marks[out->mark_count++] = task_chain_mark(l, i);
	}
	qsort(out->marks, out->mark_count, sizeof *out->marks, word_order);
	qsort(keys, out->mark_count, sizeof *keys, word_order);
	count_keys(out, keys, out->mark_count);
	free(keys);
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
