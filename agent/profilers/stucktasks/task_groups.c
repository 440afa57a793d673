#include "agent/profilers/stucktasks/task_groups.h"

#include "agent/profilers/stucktasks/task_chain.h"
#include "agent/profilers/stucktasks/task_pools.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <uthash.h>

struct group_entry {
	uint64_t key;
	size_t group; /* SIZE_MAX: it is left out */
	UT_hash_handle hh;
};

struct grouping {
	const struct task_look *l;
	const struct task_brief *before;
	struct task_groups *out;
	struct group_entry *entries;
	size_t cap;
	uint32_t *callers; /* by node, of the last of each chain: chains that end in it */
};

static int words_in_order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static bool is_among(const uint64_t *words, size_t count, uint64_t word)
{
	return count && bsearch(&word, words, count, sizeof word, words_in_order);
}

static uint64_t count_before(const struct task_brief *b, uint64_t key)
{
	size_t low = 0, high = b->group_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (b->groups[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < b->group_count && b->groups[low].key == key ? b->groups[low].count : 0;
}

/* The same one waited first there in the look before, and there was no place. */
static bool was_the_same(const struct task_brief *b, const struct task_semaphore *s)
{
	size_t low = 0, high = s->count == 0 ? b->semaphore_count : 0;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (b->semaphores[middle].address < s->address)
			low = middle + 1;
		else
			high = middle;
	}
	return s->count == 0 && low < b->semaphore_count && b->semaphores[low].address == s->address && b->semaphores[low].head == s->head;
}

static struct task_group *group_at(struct grouping *g, uint32_t node)
{
	uint64_t key = task_chain_key(g->l, node);
	struct group_entry *e;
	HASH_FIND(hh, g->entries, &key, sizeof key, e);
	if (e)
		return e->group == SIZE_MAX ? NULL : &g->out->items[e->group];
	e = mem_alloc(sizeof *e);
	*e = (struct group_entry){.key = key, .group = g->out->count < TASK_GROUPS_MAX ? g->out->count : SIZE_MAX};
	HASH_ADD(hh, g->entries, key, sizeof e->key, e);
	if (e->group == SIZE_MAX) {
		g->out->left_out++;
		return NULL;
	}
	GROW(g->out->items, g->out->count, g->cap);
	struct task_group *x = &g->out->items[g->out->count++];
	task_chain_describe(g->l, node, x);
	x->before = count_before(g->before, key);
	return x;
}

/* Threads are counted where they block: on the last caller of the chain. */
static bool chain_blocks(const struct task_look *l, uint32_t node)
{
	for (int i = 0; i < TASK_CHAIN_MAX && node != TASK_NONE; i++, node = l->nodes[node].next)
		if (l->nodes[node].flags & TASK_BLOCKS)
			return true;
	return false;
}

static void add_semaphore(struct grouping *g, struct task_group *x, uint32_t leaf, bool lasting)
{
	const struct task_semaphore *s = task_look_semaphore(g->l, leaf);
	if (!s)
		return;
	x->most = s->most > x->most ? s->most : x->most;
	x->frozen += lasting && was_the_same(g->before, s);
}

static uint32_t awaited_box(const struct task_look *l, uint32_t node)
{
	uint32_t at = l->nodes[node].awaits;
	return at != TASK_NONE && task_look_kind(l, at)->role == TASK_ROLE_BOX ? at : TASK_NONE;
}

/* One task may be awaited by many: each of their chains ends in it. Who waits for it among others, by Task.WhenAny, goes on without it. */
static void count_callers(struct grouping *g)
{
	const struct task_look *l = g->l;
	g->callers = mem_calloc(l->count + 1, sizeof *g->callers);
	for (uint32_t i = 0; i < l->count; i++) {
		bool first = task_look_kind(l, i)->role == TASK_ROLE_BOX && l->nodes[i].next == TASK_NONE;
		uint32_t at = first ? i : TASK_NONE;
		for (int steps = 0; steps < TASK_CHAIN_MAX && at != TASK_NONE && !task_look_is_last(l, at); steps++)
			at = awaited_box(l, at);
		if (at != TASK_NONE)
			g->callers[at]++;
	}
}

static void add_operation(struct grouping *g, uint32_t node)
{
	uint32_t leaf = task_look_leaf(g->l, node);
	struct task_group *x = group_at(g, node);
	if (!x) {
		g->out->left_out_operations++;
		return;
	}
	bool lasting = is_among(g->before->marks, g->before->mark_count, task_chain_mark(g->l, node));
	x->count++;
	x->lasting += lasting;
	x->blocks += chain_blocks(g->l, node);
	x->behind += g->callers[node] > 1 ? g->callers[node] - 1 : 0;
	if (x->wait == TASK_WAIT_COMPLETION && g->l->holders_known && leaf != TASK_NONE && lasting && !(g->l->nodes[leaf].flags & TASK_HELD)) {
		x->unheld++;
		x->kept += chain_blocks(g->l, node) || (g->l->nodes[task_look_last_caller(g->l, node)].flags & TASK_KEPT);
	}
	add_semaphore(g, x, leaf, lasting);
	struct task_pool *pool = x->queued ? task_pools_of(g->l, node) : NULL;
	if (pool) {
		pool->waiting++;
		pool->lasting += lasting;
	}
	g->out->waits[x->wait]++;
	if (x->wait == TASK_WAIT_NOTHING) {
		g->out->running++;
		return;
	}
	g->out->operations++;
	g->out->lasting += lasting;
}

static int larger_group(const void *a, const void *b)
{
	const struct task_group *x = a, *y = b;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static void free_entries(struct grouping *g)
{
	struct group_entry *e, *next;
	HASH_ITER(hh, g->entries, e, next)
	{
		HASH_DEL(g->entries, e);
		free(e);
	}
}

static void count_faults(const struct task_look *l, const struct task_brief *before, struct task_groups *out)
{
	out->faults = l->fault_count;
	uint64_t *of_type = mem_calloc((size_t)l->snapshot->type_count + 1, sizeof *of_type);
	uint32_t most = TASK_NONE;
	for (size_t i = 0; i < l->fault_count; i++) {
		uint32_t type = l->faults[i].type;
		if (!is_among(before->faults, before->fault_count, l->faults[i].address))
			continue;
		out->lasting_faults++;
		if (type != TASK_NONE && ++of_type[type] > out->fault_most) {
			out->fault_most = of_type[type];
			most = type;
		}
	}
	out->fault_place = most == TASK_NONE ? NULL : task_chain_method(l, most);
	free(of_type);
}

void task_groups_make(const struct task_look *l, const struct task_brief *before, struct task_groups *out)
{
	struct grouping g = {.l = l, .before = before, .out = out};
	*out = (struct task_groups){.completed = l->completed};
	count_callers(&g);
	for (uint32_t i = 0; i < l->count; i++) {
		out->boxes += task_look_kind(l, i)->role == TASK_ROLE_BOX;
		out->tasks += task_look_kind(l, i)->role == TASK_ROLE_PROMISE;
		out->unread += (l->nodes[i].flags & TASK_UNREAD) != 0;
		out->blocked += (l->nodes[i].flags & TASK_BLOCKS) != 0;
		if (task_look_is_last(l, i))
			add_operation(&g, i);
	}
	for (size_t i = 0; i < l->pool_count; i++)
		if (l->pools[i].lasting > out->pool.lasting)
			out->pool = l->pools[i];
	count_faults(l, before, out);
	free(g.callers);
	free_entries(&g);
	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, larger_group);
}

void task_groups_fini(struct task_groups *g)
{
	for (size_t i = 0; i < g->count; i++) {
		for (size_t k = 0; k < g->items[i].call_count; k++)
			free(g->items[i].calls[k].method);
		free(g->items[i].calls);
		free(g->items[i].awaited);
	}
	free(g->items);
	free(g->fault_place);
	*g = (struct task_groups){0};
}
