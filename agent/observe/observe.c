#include "agent/observe/observe.h"

#include "agent/observe/observe_group.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define STACK_BYTES (256 * 1024)
#define FIND_AGAIN_MS 10000 /* what has not been found, and what may have got a limit */

#define KEY_SIZE (40 + 40 + 64)

struct watch {
	char key[KEY_SIZE];
	struct link_observation what;
	struct observe_group group;
	struct observe_state state;
	int64_t find_mono_ms;  /* when to look for its group */
	bool unsent;
	UT_hash_handle hh;
};

struct observe {
	struct observe_config config;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* guarded: */
	struct link_observation *pending; /* a new set, or NULL */
	size_t pending_count;
	int64_t valid_until_ms;
	bool stopping, running, joinable;
	struct observe_status status;
	pthread_t thread;
	/* the thread's: */
	struct watch *watches;
};

/* The thread's side ------------------------------------------------------------------------------------------------ */

static void watch_key(const struct link_observation *o, char out[KEY_SIZE])
{
	memset(out, 0, KEY_SIZE);
	snprintf(out, KEY_SIZE, "%s/%s/%s", o->id, o->pod_uid, o->container);
}

static void remove_watch(struct observe *o, struct watch *w)
{
	HASH_DEL(o->watches, w);
	observe_group_fini(&w->group);
	free(w);
}

static void remove_all_watches(struct observe *o)
{
	struct watch *w, *tmp;
	HASH_ITER(hh, o->watches, w, tmp)
		remove_watch(o, w);
}

static bool same_question(const struct link_observation *a, const struct link_observation *b)
{
	return a->resource == b->resource && a->above_percent == b->above_percent && a->for_seconds == b->for_seconds && a->whole == b->whole;
}

/* The same question goes on where it was, also when its container has been started anew; another one begins anew. */
static void carry_over(struct watch *w, struct watch *before)
{
	if (before && same_question(&before->what, &w->what)) {
		w->state = before->state;
		w->unsent = before->unsent || w->state.state != LINK_OBSERVED_NORMAL;
	}
	if (before && before->what.resource == w->what.resource && strcmp(before->what.container_id, w->what.container_id) == 0) {
		w->group = before->group;
		w->find_mono_ms = before->find_mono_ms;
		before->group = (struct observe_group){0};
	}
}

static void replace_set(struct observe *o, const struct link_observation *items, size_t count)
{
	struct watch *old = o->watches, *w, *tmp;
	o->watches = NULL;
	for (size_t i = 0; i < count; i++) {
		char key[KEY_SIZE];
		struct watch *before = NULL;
		watch_key(&items[i], key);
		HASH_FIND_STR(o->watches, key, w);
		if (w) /* said twice */
			continue;
		w = mem_alloc(sizeof *w);
		memcpy(w->key, key, sizeof key);
		w->what = items[i];
		HASH_FIND_STR(old, key, before);
		carry_over(w, before);
		HASH_ADD_STR(o->watches, key, w);
	}
	HASH_ITER(hh, old, w, tmp) {
		HASH_DEL(old, w);
		observe_group_fini(&w->group);
		free(w);
	}
}

/* Is a look for its group due? A group without a limit is looked for again, because its limit may be set meanwhile. */
static bool wants_finding(const struct watch *w, int64_t now_ms)
{
	return (!w->group.folder || (!w->what.whole && !w->group.limit)) && now_ms >= w->find_mono_ms;
}

static void find_watch_groups(struct observe *o, int64_t now_ms)
{
	size_t count = 0, all = HASH_COUNT(o->watches);
	AUTO_FREE const struct link_observation **items = mem_calloc(all + 1, sizeof *items);
	AUTO_FREE struct observe_group *found = mem_calloc(all + 1, sizeof *found);
	AUTO_FREE struct watch **whose = mem_calloc(all + 1, sizeof *whose);
	for (struct watch *w = o->watches; w; w = w->hh.next) {
		if (!wants_finding(w, now_ms))
			continue;
		whose[count] = w;
		items[count++] = &w->what;
	}
	if (!count)
		return;
	observe_group_find(o->config.proc_root, items, count, found);
	for (size_t i = 0; i < count; i++) {
		observe_group_fini(&whose[i]->group);
		whose[i]->group = found[i];
		whose[i]->find_mono_ms = now_ms + FIND_AGAIN_MS;
	}
}

static void look_at_all(struct observe *o)
{
	for (struct watch *w = o->watches; w; w = w->hh.next) {
		struct observe_sample sample = {.mono_ms = clock_mono_ms(), .wall_ms = clock_wall_ms()};
		observe_group_look(&w->group, &w->what, &sample);
		if (!sample.found)
			observe_group_fini(&w->group);
		w->unsent |= observe_step(&w->what, &w->state, &sample);
	}
}

static size_t collect_unsent(struct observe *o, struct link_observed *out)
{
	size_t count = 0;
	for (struct watch *w = o->watches; w && count < LINK_MAX_OBSERVATIONS; w = w->hh.next) {
		if (!w->unsent)
			continue;
		struct link_observed *to = &out[count++];
		memcpy(to->id, w->what.id, sizeof to->id);
		memcpy(to->pod_uid, w->what.pod_uid, sizeof to->pod_uid);
		memcpy(to->container, w->what.container, sizeof to->container);
		to->state = w->state.state;
		to->value = w->state.value;
		to->whole = w->state.whole;
		to->since_wall_ms = w->state.since_wall_ms;
	}
	return count;
}

/* What nobody takes is sent with the next look. */
static void send_changes(struct observe *o)
{
	bool any = false;
	for (struct watch *w = o->watches; w && !any; w = w->hh.next)
		any = w->unsent;
	if (!any)
		return;
	AUTO_FREE struct link_observed *items = mem_calloc(LINK_MAX_OBSERVATIONS, sizeof *items);
	struct link_msg m = {.type = LINK_MSG_OBSERVED};
	m.u.observed.items = items;
	m.u.observed.count = collect_unsent(o, items);
	struct err e = ERR_INIT;
	if (o->config.send(o->config.ctx, &m, &e) < 0) {
		LOG_DEBUG("observe", "nobody takes what was observed", LOG_S("error", e.kind ? e.message : ""));
		return;
	}
	for (struct watch *w = o->watches; w; w = w->hh.next)
		w->unsent = false;
}

/* false: there is nothing to do any more. The lock is held. */
static bool apply_pending_set(struct observe *o)
{
	if (o->pending) {
		struct link_observation *items = o->pending;
		size_t count = o->pending_count;
		o->pending = NULL;
		pthread_mutex_unlock(&o->lock);
		replace_set(o, items, count);
		free(items);
		pthread_mutex_lock(&o->lock);
		return true; /* another one may have come meanwhile */
	}
	if (o->watches && clock_mono_ms() >= o->valid_until_ms) {
		LOG_WARN("observe", "no leader asks any more: nothing is observed");
		remove_all_watches(o);
	}
	return o->watches && !o->stopping;
}

static void wait_for_change(struct observe *o, int64_t mono_ms)
{
	while (!o->stopping && !o->pending) {
		if (thread_cond_wait_until(&o->changed, &o->lock, mono_ms) != 0)
			return;
	}
}

static void look_once(struct observe *o)
{
	find_watch_groups(o, clock_mono_ms());
	look_at_all(o);
	send_changes(o);
}

static void *run_observe(void *arg)
{
	struct observe *o = arg;
	pthread_mutex_lock(&o->lock);
	while (apply_pending_set(o)) {
		if (o->pending)
			continue;
		o->status.count = HASH_COUNT(o->watches);
		o->status.samples += o->status.count;
		int64_t next_ms = clock_mono_ms() + o->config.every_ms;
		pthread_mutex_unlock(&o->lock);
		look_once(o);
		pthread_mutex_lock(&o->lock);
		wait_for_change(o, next_ms);
	}
	o->status.count = 0;
	remove_all_watches(o);
	o->running = false;
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

/* Others' side ----------------------------------------------------------------------------------------------------- */

struct observe *observe_new(const struct observe_config *c)
{
	struct observe *o = mem_alloc(sizeof *o);
	o->config = *c;
	if (!o->config.every_ms)
		o->config.every_ms = OBSERVE_EVERY_MS;
	pthread_mutex_init(&o->lock, NULL);
	thread_cond_init(&o->changed);
	return o;
}

/* The lock is held. A thread that has said that it does not run is at its end: joining it does not wait. */
static void ensure_thread(struct observe *o)
{
	if (o->running)
		return;
	if (o->joinable)
		pthread_join(o->thread, NULL);
	o->running = o->joinable = thread_start(&o->thread, "observe", STACK_BYTES, run_observe, o, NULL) == 0;
	if (!o->running)
		LOG_ERROR("observe", "no thread can be started: thresholds are not observed until the leader asks again");
}

void observe_set(struct observe *o, const struct link_msg *m)
{
	size_t count = m->u.observe.count;
	pthread_mutex_lock(&o->lock);
	o->valid_until_ms = clock_mono_ms() + m->u.observe.valid_seconds * 1000;
	if ((count || o->running) && !o->stopping) {
		free(o->pending);
		o->pending = mem_calloc(count ? count : 1, sizeof *o->pending);
		if (count)
			memcpy(o->pending, m->u.observe.items, count * sizeof *o->pending);
		o->pending_count = count;
		ensure_thread(o);
		pthread_cond_signal(&o->changed);
	}
	pthread_mutex_unlock(&o->lock);
}

void observe_get_status(struct observe *o, struct observe_status *out)
{
	pthread_mutex_lock(&o->lock);
	*out = o->status;
	pthread_mutex_unlock(&o->lock);
}

void observe_stop(struct observe *o)
{
	pthread_mutex_lock(&o->lock);
	o->stopping = true;
	bool joinable = o->joinable;
	o->joinable = false;
	pthread_cond_signal(&o->changed);
	pthread_mutex_unlock(&o->lock);
	if (joinable)
		pthread_join(o->thread, NULL);
}

void observe_free(struct observe *o)
{
	if (!o)
		return;
	observe_stop(o);
	free(o->pending);
	pthread_cond_destroy(&o->changed);
	pthread_mutex_destroy(&o->lock);
	free(o);
}
