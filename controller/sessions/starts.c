#include "controller/sessions/starts.h"

#include "common/base/hash.h"
#include "common/base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_AGAIN_MS 1000 /* at most so often, whatever links */

struct awaiting {
	char key[SESSION_KEY_SIZE];
	int64_t frequency_hertz;
	uint64_t seen;         /* the number of the last start that it has looked at */
	struct started chosen; /* pod_uid "": none */
	UT_hash_handle hh;
};

struct heard {
	struct started start;
	uint64_t number; /* 0: the place is free */
	bool taken;
};

struct starts {
	pthread_mutex_t lock;
	struct awaiting *sessions;
	struct heard heard[STARTS_MAX];
	uint64_t last_number;
	bool due; /* some agents have not been asked */
	int64_t asked_ms;
	size_t agents;
};

struct starts *starts_new(void)
{
	struct starts *s = mem_alloc(sizeof *s);
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static void drop_awaiting(struct starts *s, struct awaiting *a)
{
	HASH_DEL(s->sessions, a);
	free(a);
}

static void drop_all_awaiting(struct starts *s)
{
	struct awaiting *a, *next;
	HASH_ITER(hh, s->sessions, a, next)
		drop_awaiting(s, a);
}

void starts_free(struct starts *s)
{
	if (!s)
		return;
	drop_all_awaiting(s);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static struct awaiting *find_awaiting(struct starts *s, const char *key)
{
	struct awaiting *a = NULL;
	HASH_FIND_STR(s->sessions, key, a);
	return a;
}

static int64_t highest_frequency(const struct starts *s)
{
	int64_t highest = 1;
	for (const struct awaiting *a = s->sessions; a; a = a->hh.next)
		highest = a->frequency_hertz > highest ? a->frequency_hertz : highest;
	return highest;
}

static void ask_agents(struct starts *s, struct agent_hub *hub, int64_t now_ms)
{
	s->agents = agent_hub_await_starts(hub, STARTS_VALID_SECONDS, highest_frequency(s));
	s->asked_ms = now_ms;
	s->due = false;
}

size_t starts_await(struct starts *s, struct agent_hub *hub, const char *key, int64_t frequency_hertz, int64_t now_mono_ms)
{
	pthread_mutex_lock(&s->lock);
	struct awaiting *a = find_awaiting(s, key);
	bool news = !a;
	if (!a) {
		a = mem_alloc(sizeof *a);
		snprintf(a->key, sizeof a->key, "%s", key);
		a->seen = s->last_number; /* what started before is not its next one */
		HASH_ADD_STR(s->sessions, key, a);
	}
	a->frequency_hertz = frequency_hertz;
	if (news || (s->due && now_mono_ms - s->asked_ms >= ASK_AGAIN_MS))
		ask_agents(s, hub, now_mono_ms);
	size_t agents = s->agents;
	pthread_mutex_unlock(&s->lock);
	return agents;
}

void starts_forget(struct starts *s, struct agent_hub *hub, const char *key)
{
	pthread_mutex_lock(&s->lock);
	struct awaiting *a = find_awaiting(s, key);
	if (a)
		drop_awaiting(s, a);
	if (a && !s->sessions)
		agent_hub_await_starts(hub, 0, 1);
	pthread_mutex_unlock(&s->lock);
}

void starts_reset(struct starts *s)
{
	pthread_mutex_lock(&s->lock);
	drop_all_awaiting(s);
	pthread_mutex_unlock(&s->lock);
}

void starts_node(struct starts *s)
{
	pthread_mutex_lock(&s->lock);
	s->due = true;
	pthread_mutex_unlock(&s->lock);
}

static struct heard *oldest_heard(struct starts *s)
{
	struct heard *oldest = &s->heard[0];
	for (size_t i = 1; i < STARTS_MAX; i++)
		oldest = s->heard[i].number < oldest->number ? &s->heard[i] : oldest;
	return oldest;
}

/* The keys of all that wait, in an array that the caller frees. With the lock held. */
static char (*copy_keys(const struct starts *s, size_t *count))[SESSION_KEY_SIZE]
{
	char(*keys)[SESSION_KEY_SIZE] = mem_calloc(HASH_COUNT(s->sessions) + 1, sizeof *keys);
	*count = 0;
	for (const struct awaiting *a = s->sessions; a; a = a->hh.next)
		memcpy(keys[(*count)++], a->key, sizeof a->key);
	return keys;
}

void starts_heard(struct starts *s, const char *node, const char *pod_uid, int64_t now_mono_ms, session_key_fn *fn, void *ctx)
{
	char(*keys)[SESSION_KEY_SIZE] = NULL;
	size_t count = 0;
	pthread_mutex_lock(&s->lock);
	if (s->sessions) {
		struct heard *h = oldest_heard(s);
		*h = (struct heard){.number = ++s->last_number, .start.heard_mono_ms = now_mono_ms};
		snprintf(h->start.node, sizeof h->start.node, "%s", node);
		snprintf(h->start.pod_uid, sizeof h->start.pod_uid, "%s", pod_uid);
		keys = copy_keys(s, &count);
	}
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < count; i++)
		fn(ctx, keys[i]);
	free(keys);
}

static bool is_kept(const struct started *start, int64_t now_ms)
{
	return now_ms - start->heard_mono_ms < STARTS_KEPT_MS;
}

bool starts_next(struct starts *s, const char *key, int64_t now_mono_ms, struct started *out)
{
	const struct heard *next = NULL;
	pthread_mutex_lock(&s->lock);
	struct awaiting *a = find_awaiting(s, key);
	for (size_t i = 0; a && i < STARTS_MAX; i++) {
		const struct heard *h = &s->heard[i];
		if (h->number > a->seen && !h->taken && is_kept(&h->start, now_mono_ms) && (!next || h->number < next->number))
			next = h;
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
	pthread_mutex_lock(&s->lock);
	struct awaiting *a = find_awaiting(s, key);
	for (size_t i = 0; a && i < STARTS_MAX && !mine; i++) {
		struct heard *h = &s->heard[i];
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
	if (s->sessions && now_mono_ms - s->asked_ms >= (s->due ? ASK_AGAIN_MS : STARTS_CONFIRM_MS))
		ask_agents(s, hub, now_mono_ms);
	if (s->agents != agents)
		keys = copy_keys(s, &count);
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < count; i++)
		fn(ctx, keys[i]);
	free(keys);
}
