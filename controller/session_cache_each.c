/* Going over the sessions that are known. */
#include "common/api/reason.h"
#include "common/base/mem.h"
#include "controller/session_cache_private.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* Keys are collected first, so that the callback runs without the lock. */
struct keys {
	char **items;
	size_t count, cap;
};

static void keys_add(struct keys *k, const char *key)
{
	GROW(k->items, k->count, k->cap);
	k->items[k->count++] = mem_strdup(key);
}

static void keys_call(struct keys *k, session_key_fn *fn, void *ctx)
{
	for (size_t i = 0; i < k->count; i++) {
		fn(ctx, k->items[i]);
		free(k->items[i]);
	}
	free(k->items);
}

static bool waits_for(const struct entry *n, const char *node)
{
	bool found = n->session->pod_count == 0 && n->session->conditions[CONDITION_SUCCEEDED].reason != REASON_Queued;
	for (size_t i = 0; i < n->session->pod_count && !found; i++)
		found = strcmp(n->session->pods[i].node, node) == 0;
	return found;
}

void session_cache_each_waiting_for(struct session_cache *c, const char *node, session_key_fn *fn, void *ctx)
{
	struct keys k = {0};
	pthread_mutex_lock(&c->lock);
	struct entry *n;
	DL_FOREACH(c->active, n) {
		if (!node || waits_for(n, node))
			keys_add(&k, n->key);
	}
	pthread_mutex_unlock(&c->lock);
	keys_call(&k, fn, ctx);
}

void session_cache_each_active(struct session_cache *c, session_key_fn *fn, void *ctx)
{
	session_cache_each_waiting_for(c, NULL, fn, ctx);
}

void session_cache_each_expired(struct session_cache *c, int64_t now_wall_ms, session_key_fn *fn, void *ctx)
{
	struct keys k = {0};
	pthread_mutex_lock(&c->lock);
	struct entry *n, *next;
	int64_t soonest = INT64_MAX;
	if (c->next_expiry_wall_ms <= now_wall_ms) {
		HASH_ITER(by_key, c->keys, n, next) {
			if (!n->session && n->expires_wall_ms <= now_wall_ms)
				keys_add(&k, n->key);
			if (!n->session && n->expires_wall_ms < soonest)
				soonest = n->expires_wall_ms;
		}
		c->next_expiry_wall_ms = soonest;
	}
	pthread_mutex_unlock(&c->lock);
	keys_call(&k, fn, ctx);
}
