#include "agent/profilers/stucktasks/task_pools.h"

#include "agent/profilers/stucktasks/task_suspended.h"
#include "common/base/mem.h"

#include <stdlib.h>

#define POOLS_MAX ((size_t)1 << 16)
#define USERS_MAX ((size_t)1 << 22)

struct task_pool_user {
	uint32_t node, pool;
};

static int pool_by_address(const void *a, const void *b)
{
	const struct task_pool *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static int user_by_node(const void *a, const void *b)
{
	const struct task_pool_user *x = a, *y = b;
	return (x->node > y->node) - (x->node < y->node);
}

static void note_pool(struct task_look *l, const struct heap_cursor *c, const struct task_type *t)
{
	struct task_pool p = {.address = c->object.address, .wait = t->wait};
	if (l->pool_count == POOLS_MAX || !heap_cursor_value(c, HEAP_VALUE_OPEN, &p.open) || !heap_cursor_value(c, HEAP_VALUE_LIMIT, &p.most))
		return;
	p.idle_known = heap_cursor_value(c, HEAP_VALUE_IDLE, &p.idle);
	GROW(l->pools, l->pool_count, l->pool_cap);
	l->pools[l->pool_count++] = p;
}

/* A method of the pool refers to it from its state machine. */
static void note_users(struct task_look *l, uint32_t node, struct heap_cursor *c)
{
	uint64_t offset, lowest = l->pools[0].address, highest = l->pools[l->pool_count - 1].address;
	struct task_pool key = {0};
	while (heap_cursor_edge(c, &offset, &key.address)) {
		if (key.address < lowest || key.address > highest || l->user_count == USERS_MAX)
			continue;
		const struct task_pool *hit = bsearch(&key, l->pools, l->pool_count, sizeof key, pool_by_address);
		if (!hit)
			continue;
		GROW(l->users, l->user_count, l->user_cap);
		l->users[l->user_count++] = (struct task_pool_user){node, (uint32_t)(hit - l->pools)};
		return;
	}
}

void task_pools_find(struct task_look *l)
{
	struct heap_cursor c;
	heap_snapshot_cursor(l->snapshot, &c);
	while (heap_snapshot_object(&c))
		if (l->types[c.object.type].role == TASK_ROLE_POOL)
			note_pool(l, &c, &l->types[c.object.type]);
	if (!l->pool_count)
		return;
	qsort(l->pools, l->pool_count, sizeof *l->pools, pool_by_address);
	heap_snapshot_cursor(l->snapshot, &c);
	while (heap_snapshot_object(&c)) {
		enum task_role role = l->types[c.object.type].role;
		uint32_t node = role == TASK_ROLE_BOX || role == TASK_ROLE_SUSPENDED ? task_look_find(l, c.object.address) : TASK_NONE;
		if (node != TASK_NONE)
			note_users(l, role == TASK_ROLE_SUSPENDED ? task_suspended_box(l, node) : node, &c);
	}
	if (l->user_count)
		qsort(l->users, l->user_count, sizeof *l->users, user_by_node);
}

void task_pools_fini(struct task_look *l)
{
	free(l->pools);
	free(l->users);
}

struct task_pool *task_pools_of(const struct task_look *l, uint32_t node)
{
	for (int i = 0; i < TASK_CHAIN_MAX && node != TASK_NONE && l->user_count; i++, node = l->nodes[node].next) {
		const struct task_pool_user key = {.node = node};
		const struct task_pool_user *hit = bsearch(&key, l->users, l->user_count, sizeof key, user_by_node);
		if (hit)
			return &l->pools[hit->pool];
	}
	return NULL;
}
