#include "agent/profilers/stucktasks/task_nodes.h"

#include "common/base/hash.h"
#include "common/base/mem.h"

#include <stdlib.h>

#define INDEX_BUDGET ((size_t)64 << 20) /* more lies in a file: three gigabytes of tasks have so much */
#define KINDS_MAX (1u << 18) /* a process that has more is not one: the others are no operations */

struct task_kind_entry {
	struct task_kind kind; /* without padding: compared as bytes */
	uint32_t number;
	UT_hash_handle hh;
};

void task_nodes_init(struct task_look *l)
{
	struct err e = ERR_INIT;
	heap_memory_init(&l->memory, INDEX_BUDGET, -1);
	l->indexed = heap_index_init(&l->index, &l->memory, &e) == 0;
	GROW(l->kinds, l->kind_count, l->kind_cap);
	l->kinds[l->kind_count++] = (struct task_kind){.role = TASK_ROLE_NONE};
}

void task_nodes_fini(struct task_look *l)
{
	struct task_kind_entry *k, *next;
	HASH_ITER(hh, l->kind_entries, k, next)
	{
		HASH_DEL(l->kind_entries, k);
		free(k);
	}
	if (l->indexed)
		heap_index_fini(&l->index);
	heap_memory_fini(&l->memory);
	free(l->nodes);
	free(l->kinds);
}

/* The index counts the objects of a block in bytes: two that lie nearer to each other than objects can are too many for it. */
void task_nodes_note(struct task_look *l, uint64_t address)
{
	struct err e = ERR_INIT;
	uint64_t bit = UINT64_C(1) << (address >> 3 & 63);
	if (!l->indexed || heap_index_add(&l->index, address, &e) < 0)
		return;
	uint64_t *word = &l->index.blocks[l->index.last_block].bits[address >> 9 & 7];
	if (*word & (bit << 1 | bit >> 1))
		*word &= ~bit;
}

void task_nodes_number(struct task_look *l)
{
	struct err e = ERR_INIT;
	struct heap_index *x = &l->index;
	l->count = 0;
	if (!l->indexed || heap_index_finish(x, &e) < 0)
		return;
	if (x->block_count > 1) {
		const struct heap_index_block *last = &x->blocks[x->block_count - 1];
		l->count = (size_t)last->first + last->before[7] + heap_index_bits(last->bits[7]);
	}
	l->nodes = mem_alloc((l->count + 1) * sizeof *l->nodes);
	for (size_t i = 0; i < l->count; i++)
		l->nodes[i] = (struct task_node){.next = TASK_NONE, .awaits = TASK_NONE};
}

void task_nodes_set_kind(struct task_look *l, uint32_t node, struct task_kind kind)
{
	struct task_kind_entry *k;
	HASH_FIND(hh, l->kind_entries, &kind, sizeof kind, k);
	if (!k) {
		if (l->kind_count == KINDS_MAX)
			return;
		k = mem_calloc(1, sizeof *k);
		k->kind = kind;
		k->number = (uint32_t)l->kind_count;
		HASH_ADD(hh, l->kind_entries, kind, sizeof k->kind, k);
		GROW(l->kinds, l->kind_count, l->kind_cap);
		l->kinds[l->kind_count++] = kind;
	}
	l->nodes[node].kind = k->number & 0xffffff;
}
