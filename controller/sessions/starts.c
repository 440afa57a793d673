#include "controller/sessions/starts.h"

#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "controller/sessions/start_pods.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_AGAIN_MS 1000 /* at most so often, whatever links */

/* A pod that is bound to a node. */
struct bound_pod {
	char uid[40], node[254];
	bool listed; /* in the list under way */
	UT_hash_handle hh;
};

struct awaiting {
	char key[SESSION_KEY_SIZE], namespace[64];
	int64_t frequency_hertz;
	struct start_pods *watch;
	struct bound_pod *pods;
	bool listing, cut;     /* the watch lists; there are more pods than are looked at */
	uint64_t seen;         /* the number of the last start that it has looked at */
	struct started chosen; /* pod_uid "": none */
	UT_hash_handle hh;
};

struct heard {
	struct started start;
	uint64_t number; /* 0: the place is free */
	bool taken;
};

struct heard_node {
	char node[254];
	struct heard heard[STARTS_PER_NODE];
	UT_hash_handle hh;
};

struct starts {
	const struct kube_config *kube;
	pthread_mutex_t lock;
	struct agent_hub *hub; /* NULL: nobody has waited yet */
	struct awaiting *sessions;
	struct heard_node *nodes; /* that have said something */
	uint64_t last_number;
	bool due; /* some agents have not been asked */
	int64_t asked_ms;
	size_t agents;
};

struct starts *starts_new(const struct kube_config *kube)
{
	struct starts *s = mem_alloc(sizeof *s);
	s->kube = kube;
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static void drop_pod(struct awaiting *a, struct bound_pod *p)
{
	HASH_DEL(a->pods, p);
	free(p);
}

/* Without the lock: its watch may be calling. */
static void free_awaiting(struct awaiting *a)
{
	struct bound_pod *p, *next;
	start_pods_free(a->watch);
	HASH_ITER(hh, a->pods, p, next)
		drop_pod(a, p);
	free(a);
}

static void drop_nodes(struct starts *s, int64_t now_ms)
{
	struct heard_node *n, *next;
	HASH_ITER(hh, s->nodes, n, next) {
		bool kept = false;
		for (size_t i = 0; i < STARTS_PER_NODE; i++)
			kept |= n->heard[i].number && now_ms - n->heard[i].start.heard_mono_ms < STARTS_KEPT_MS;
		if (kept)
			continue;
		HASH_DEL(s->nodes, n);
		free(n);
	}
}

void starts_reset(struct starts *s)
{
	struct awaiting *a, *next;
	pthread_mutex_lock(&s->lock);
	struct awaiting *all = s->sessions;
	s->sessions = NULL;
	drop_nodes(s, INT64_MAX);
	pthread_mutex_unlock(&s->lock);
	HASH_ITER(hh, all, a, next) {
		HASH_DEL(all, a);
		free_awaiting(a);
	}
}

void starts_free(struct starts *s)
{
	if (!s)
		return;
	starts_reset(s);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static struct awaiting *find_awaiting(struct starts *s, const char *key)
{
	struct awaiting *a = NULL;
	HASH_FIND_STR(s->sessions, key, a);
	return a;
}

static struct bound_pod *find_bound(const struct awaiting *a, const char *uid)
{
	struct bound_pod *p = NULL;
	HASH_FIND_STR(a->pods, uid, p);
	return p;
}

/* What agents are told ------------------------------------------------------------------------------------------------ */

static int compare_awaited(const void *a, const void *b)
{
	const struct awaited_pod *x = a, *y = b;
	int order = strcmp(x->node, y->node);
	order = order ? order : strcmp(x->pod.uid, y->pod.uid);
	return order ? order : (x->pod.frequency_hertz < y->pod.frequency_hertz) - (x->pod.frequency_hertz > y->pod.frequency_hertz);
}

/* Of pods that several sessions wait for, the first: that with the highest frequency. */
static size_t merge_awaited(struct awaited_pod *pods, size_t count)
{
	size_t left = 0;
	for (size_t i = 0; i < count; i++) {
		if (!left || strcmp(pods[left - 1].pod.uid, pods[i].pod.uid) != 0)
			pods[left++] = pods[i];
	}
	return left;
}

/* The pods of this node, or of all (NULL), by nodes; the caller's to free. */
static struct awaited_pod *list_awaited(const struct starts *s, const char *node, size_t *count)
{
	struct awaited_pod *pods = NULL;
	size_t cap = 0;
	*count = 0;
	for (const struct awaiting *a = s->sessions; a; a = a->hh.next) {
		for (const struct bound_pod *p = a->pods; p; p = p->hh.next) {
			if (node && strcmp(p->node, node) != 0)
				continue;
			GROW(pods, *count, cap);
			struct awaited_pod *w = &pods[(*count)++];
			*w = (struct awaited_pod){.pod.frequency_hertz = a->frequency_hertz};
			memcpy(w->node, p->node, sizeof w->node);
			memcpy(w->pod.uid, p->uid, sizeof w->pod.uid);
			memcpy(w->pod.namespace, a->namespace, sizeof w->pod.namespace);
		}
	}
	if (*count)
		qsort(pods, *count, sizeof *pods, compare_awaited);
	*count = merge_awaited(pods, *count);
	return pods;
}

static size_t tell_agents(struct starts *s, const char *node)
{
	size_t count;
	struct awaited_pod *pods = list_awaited(s, node, &count);
	size_t told = agent_hub_await_starts(s->hub, node, STARTS_VALID_SECONDS, pods, count);
	free(pods);
	return told;
}

static void ask_all_agents(struct starts *s, int64_t now_ms)
{
	s->agents = tell_agents(s, NULL);
	s->asked_ms = now_ms;
	s->due = false;
}

/* What the API server tells -------------------------------------------------------------------------------------------- */

static void on_pods_list_begin(void *ctx, const char *key)
{
	struct starts *s = ctx;
	pthread_mutex_lock(&s->lock);
	struct awaiting *a = find_awaiting(s, key);
	for (struct bound_pod *p = a ? a->pods : NULL; p; p = p->hh.next)
		p->listed = false;
	if (a)
		a->listing = true;
	pthread_mutex_unlock(&s->lock);
}

static void on_pods_list_end(void *ctx, const char *key)
{
	struct starts *s = ctx;
	struct bound_pod *p, *next;
	pthread_mutex_lock(&s->lock);
	struct awaiting *a = find_awaiting(s, key);
	if (a) {
		HASH_ITER(hh, a->pods, p, next) {
			if (!p->listed)
				drop_pod(a, p);
		}
		a->listing = false;
		tell_agents(s, NULL);
	}
	pthread_mutex_unlock(&s->lock);
}

/* NULL: there are too many. */
static struct bound_pod *add_bound(struct awaiting *a, const char *uid, const char *node)
{
	if (HASH_COUNT(a->pods) >= STARTS_PODS_MAX) {
		if (!a->cut)
			LOG_WARN("starts", "a session waits for more pods than are looked at", LOG_S("session", a->key), LOG_I("most", STARTS_PODS_MAX));
		a->cut = true;
		return NULL;
	}
	struct bound_pod *p = mem_alloc(sizeof *p);
	snprintf(p->uid, sizeof p->uid, "%s", uid);
	snprintf(p->node, sizeof p->node, "%s", node);
	HASH_ADD_STR(a->pods, uid, p);
	return p;
}

/* Its node's agent is told at once: the kubelet is about to make the first container. */
static void on_bound_pod(void *ctx, const char *key, const char *uid, const char *node, bool gone)
{
	struct starts *s = ctx;
	pthread_mutex_lock(&s->lock);
	struct awaiting *a = find_awaiting(s, key);
	struct bound_pod *p = a ? find_bound(a, uid) : NULL;
	bool news = a && !p && !gone;
	if (p && gone)
		drop_pod(a, p);
	else if (news)
		p = add_bound(a, uid, node);
	if (p && !gone)
		p->listed = true;
	if (news && p && !a->listing && !tell_agents(s, node))
		s->due = true;
	pthread_mutex_unlock(&s->lock);
}

/* Who waits -------------------------------------------------------------------------------------------------------------- */

static bool is_full_of(const struct starts *s, const char *namespace)
{
	size_t own = 0;
	for (const struct awaiting *a = s->sessions; a; a = a->hh.next)
		own += strcmp(a->namespace, namespace) == 0;
	return own >= STARTS_SESSIONS_PER_NAMESPACE || HASH_COUNT(s->sessions) >= STARTS_SESSIONS_MAX;
}

static struct awaiting *add_awaiting(struct starts *s, const struct start_wish *wish)
{
	struct awaiting *a = mem_alloc(sizeof *a);
	snprintf(a->key, sizeof a->key, "%s", wish->key);
	snprintf(a->namespace, sizeof a->namespace, "%s", wish->namespace);
	a->frequency_hertz = wish->frequency_hertz;
	a->seen = s->last_number; /* what started before is not its next one */
	HASH_ADD_STR(s->sessions, key, a);
	LOG_INFO("starts", "a session waits for containers to start; those of its pods will be sampled from their beginning", LOG_S("session", a->key),
		 LOG_S("requested_by", wish->requested_by ? wish->requested_by : ""), LOG_I("hertz", a->frequency_hertz));
	return a;
}

/* Its callbacks take the lock. */
static int watch_pods(struct starts *s, const struct start_wish *wish, struct err *e)
{
	const struct start_pods_callbacks callbacks = {s, on_pods_list_begin, on_pods_list_end, on_bound_pod};
	struct start_pods *watch = start_pods_new(s->kube, wish->key, wish->namespace, wish->target, &callbacks, e);
	if (!watch)
		return -1;
	pthread_mutex_lock(&s->lock);
	struct awaiting *a = find_awaiting(s, wish->key);
	if (a && !a->watch) {
		a->watch = watch;
		watch = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	start_pods_free(watch); /* it was forgotten meanwhile */
	return 0;
}

int starts_await(struct starts *s, struct agent_hub *hub, const struct start_wish *wish, int64_t now_mono_ms, size_t *agents, struct err *e)
{
	pthread_mutex_lock(&s->lock);
	struct awaiting *a = find_awaiting(s, wish->key);
	bool news = !a, full = news && is_full_of(s, wish->namespace);
	s->hub = hub;
	if (news && !full)
		a = add_awaiting(s, wish);
	if (a && (news || (s->due && now_mono_ms - s->asked_ms >= ASK_AGAIN_MS)))
		ask_all_agents(s, now_mono_ms);
	*agents = s->agents;
	pthread_mutex_unlock(&s->lock);
	if (full)
		return 0;
	if (news && watch_pods(s, wish, e) < 0) {
		starts_forget(s, hub, wish->key);
		return -1;
	}
	return 1;
}

void starts_forget(struct starts *s, struct agent_hub *hub, const char *key)
{
	pthread_mutex_lock(&s->lock);
	struct awaiting *a = find_awaiting(s, key);
	if (a) {
		HASH_DEL(s->sessions, a);
		s->due = true; /* its pods are waited for no longer */
	}
	if (a && !s->sessions) {
		agent_hub_await_starts(hub, NULL, 0, NULL, 0);
		drop_nodes(s, INT64_MAX);
	}
	pthread_mutex_unlock(&s->lock);
	if (a)
		free_awaiting(a);
}

void starts_node(struct starts *s)
{
	pthread_mutex_lock(&s->lock);
	s->due = true;
	pthread_mutex_unlock(&s->lock);
}

/* What agents tell --------------------------------------------------------------------------------------------------------- */

static struct heard *oldest_heard(struct starts *s, const char *node)
{
	struct heard_node *n = NULL;
	HASH_FIND_STR(s->nodes, node, n);
	if (!n) {
		n = mem_alloc(sizeof *n);
		snprintf(n->node, sizeof n->node, "%s", node);
		HASH_ADD_STR(s->nodes, node, n);
	}
	struct heard *oldest = &n->heard[0];
	for (size_t i = 1; i < STARTS_PER_NODE; i++)
		oldest = n->heard[i].number < oldest->number ? &n->heard[i] : oldest;
	return oldest;
}

/* The keys of all that wait, or of those that wait for this pod of this node, in an array that the caller frees. With the lock held. */
static char (*copy_keys(const struct starts *s, const char *pod_uid, const char *node, size_t *count))[SESSION_KEY_SIZE]
{
	char(*keys)[SESSION_KEY_SIZE] = mem_calloc(HASH_COUNT(s->sessions) + 1, sizeof *keys);
	*count = 0;
	for (const struct awaiting *a = s->sessions; a; a = a->hh.next) {
		const struct bound_pod *p = pod_uid ? find_bound(a, pod_uid) : NULL;
		if (!pod_uid || (p && strcmp(p->node, node) == 0))
			memcpy(keys[(*count)++], a->key, sizeof a->key);
	}
	return keys;
}

static bool is_awaited(const struct starts *s, const char *pod_uid)
{
	for (const struct awaiting *a = s->sessions; a; a = a->hh.next)
		if (find_bound(a, pod_uid))
			return true;
	return false;
}

enum starts_verdict starts_heard(struct starts *s, const char *node, const char *pod_uid, int64_t now_mono_ms, session_key_fn *fn, void *ctx)
{
	size_t count;
	pthread_mutex_lock(&s->lock);
	char(*keys)[SESSION_KEY_SIZE] = copy_keys(s, pod_uid, node, &count);
	enum starts_verdict verdict = count ? STARTS_TAKEN : is_awaited(s, pod_uid) ? STARTS_FOREIGN : STARTS_UNASKED;
	if (count) {
		struct heard *h = oldest_heard(s, node);
		*h = (struct heard){.number = ++s->last_number, .start.heard_mono_ms = now_mono_ms};
		snprintf(h->start.node, sizeof h->start.node, "%s", node);
		snprintf(h->start.pod_uid, sizeof h->start.pod_uid, "%s", pod_uid);
	}
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < count; i++)
		fn(ctx, keys[i]);
	free(keys);
	return verdict;
}

static bool is_kept(const struct started *start, int64_t now_ms)
{
	return now_ms - start->heard_mono_ms < STARTS_KEPT_MS;
}

static bool is_for(const struct awaiting *a, const struct heard *h, int64_t now_ms)
{
	return h->number > a->seen && !h->taken && is_kept(&h->start, now_ms) && find_bound(a, h->start.pod_uid);
}

bool starts_next(struct starts *s, const char *key, int64_t now_mono_ms, struct started *out)
{
	const struct heard *next = NULL;
	pthread_mutex_lock(&s->lock);
	struct awaiting *a = find_awaiting(s, key);
	for (struct heard_node *n = a ? s->nodes : NULL; n; n = n->hh.next) {
		for (size_t i = 0; i < STARTS_PER_NODE; i++) {
			if (is_for(a, &n->heard[i], now_mono_ms) && (!next || n->heard[i].number < next->number))
				next = &n->heard[i];
		}
	}
	if (next) {
		a->seen = next->number;
		*out = next->start;
	}
	pthread_mutex_unlock(&s->lock);
	return next != NULL;
}

bool starts_take(struct starts *s, const char *key, const struct started *start)
{
	bool mine = false;
	struct heard_node *n = NULL;
	pthread_mutex_lock(&s->lock);
	struct awaiting *a = find_awaiting(s, key);
	HASH_FIND_STR(s->nodes, start->node, n);
	for (size_t i = 0; a && n && i < STARTS_PER_NODE && !mine; i++) {
		struct heard *h = &n->heard[i];
		mine = h->number && !h->taken && h->start.heard_mono_ms == start->heard_mono_ms && strcmp(h->start.pod_uid, start->pod_uid) == 0;
		h->taken |= mine;
	}
	if (mine)
		a->chosen = *start;
	pthread_mutex_unlock(&s->lock);
	return mine;
}

bool starts_taken(struct starts *s, const char *key, int64_t now_mono_ms, struct started *out)
{
	pthread_mutex_lock(&s->lock);
	struct awaiting *a = find_awaiting(s, key);
	bool any = a && a->chosen.pod_uid[0] && is_kept(&a->chosen, now_mono_ms);
	if (any)
		*out = a->chosen;
	else if (a)
		a->chosen.pod_uid[0] = '\0';
	pthread_mutex_unlock(&s->lock);
	return any;
}

void starts_tick(struct starts *s, struct agent_hub *hub, int64_t now_mono_ms, session_key_fn *fn, void *ctx)
{
	char(*keys)[SESSION_KEY_SIZE] = NULL;
	size_t count = 0, agents;
	pthread_mutex_lock(&s->lock);
	agents = s->agents;
	s->hub = hub;
	drop_nodes(s, now_mono_ms);
	if (s->sessions && now_mono_ms - s->asked_ms >= (s->due ? ASK_AGAIN_MS : STARTS_CONFIRM_MS))
		ask_all_agents(s, now_mono_ms);
	if (s->agents != agents)
		keys = copy_keys(s, NULL, NULL, &count);
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < count; i++)
		fn(ctx, keys[i]);
	free(keys);
}

struct starts_counts starts_count(struct starts *s)
{
	struct starts_counts c = {0};
	pthread_mutex_lock(&s->lock);
	for (const struct awaiting *a = s->sessions; a; a = a->hh.next) {
		c.sessions++;
		c.pods += HASH_COUNT(a->pods);
	}
	pthread_mutex_unlock(&s->lock);
	return c;
}
