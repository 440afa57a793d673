/* Going over the sessions that are known. */
#include "controller/sessions/session_cache_each.h"

#include "common/api/reason.h"
#include "common/base/mem.h"
#include "controller/sessions/session_cache_private.h"

#include <stdio.h>
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
	bool found = session_object_unassigned(n->session) && n->session->conditions[CONDITION_SUCCEEDED].reason != REASON_Queued;
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

static bool other_container(const struct entry *n, const struct link_job *j, const char *container)
{
	const char *theirs = j->container ? j->container : n->session->spec_valid ? n->session->spec.target.container : NULL;
	return container && theirs && strcmp(container, theirs) != 0;
}

static void occupy_pods(const struct entry *n, size_t pod, const char *container, struct pod_info *pods, size_t count)
{
	const struct session_pod *p = &n->session->pods[pod];
	const struct link_job *j = n->pods[pod].told && !job_phase_is_final(p->job.phase) ? &n->pods[pod].job : &p->job;
	if (j->phase >= JOB_ANALYZING || other_container(n, j, container))
		return;
	int64_t until = j->started_wall_ms && n->session->spec_valid ? j->started_wall_ms + n->session->spec.duration_seconds * 1000 : 0;
	for (size_t i = 0; i < count; i++) {
		bool first = !pods[i].occupied_by[0];
		if (strcmp(pods[i].uid, p->pod_uid) != 0 || (!first && until <= pods[i].occupied_until_wall_ms))
			continue;
		snprintf(pods[i].occupied_by, sizeof pods[i].occupied_by, "%s", n->session->name);
		pods[i].occupied_until_wall_ms = until;
	}
}

void session_cache_occupy(struct session_cache *c, const char *key, const char *container, struct pod_info *pods, size_t count)
{
	pthread_mutex_lock(&c->lock);
	struct entry *n;
	DL_FOREACH(c->active, n) {
		for (size_t i = 0; strcmp(n->key, key) != 0 && i < n->session->pod_count; i++)
			occupy_pods(n, i, container, pods, count);
	}
	pthread_mutex_unlock(&c->lock);
}

struct told {
	char *node;
	struct link_job job;
};

struct told_list {
	struct told *items;
	size_t count, cap;
};

static void told_list_add(struct told_list *l, const char *node, const struct link_job *job)
{
	GROW(l->items, l->count, l->cap);
	l->items[l->count].node = mem_strdup(node);
	link_job_copy(&l->items[l->count++].job, job);
}

void session_cache_each_early(struct session_cache *c, session_early_fn *fn, void *ctx)
{
	struct told_list l = {0};
	struct session_node *node, *next_node;
	struct session_early_job *early, *next;
	pthread_mutex_lock(&c->lock);
	HASH_ITER(hh, c->nodes.by_name, node, next_node) {
		HASH_ITER(hh, node->early, early, next)
			told_list_add(&l, node->name, &early->job);
	}
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < l.count; i++) {
		fn(ctx, l.items[i].node, &l.items[i].job);
		free(l.items[i].node);
		link_job_fini(&l.items[i].job);
	}
	free(l.items);
}
