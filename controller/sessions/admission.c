#include "controller/sessions/admission.h"

#include "common/base/mem.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_EVERY_MS 2000
#define SWEEP_EVERY_MS 10000

/* What the status of a session that waits says. */
struct shown {
	char *key;
	size_t place;
	int64_t at_ms; /* 0: nothing yet */
	UT_hash_handle hh;
};

struct admission {
	pthread_mutex_t lock;
	struct budget budget;
	struct shown *shown;
	bool open;
	int64_t counted_ms, swept_ms;
	session_key_fn *granted;
	void *ctx;
};

/* Keys are collected under the lock and told of without it. */
struct keys {
	char **items;
	size_t count, cap;
};

static void collect(void *ctx, const char *key)
{
	struct keys *k = ctx;
	GROW(k->items, k->count, k->cap);
	k->items[k->count++] = mem_strdup(key);
}

static void call_for_keys(struct keys *k, session_key_fn *fn, void *ctx)
{
	for (size_t i = 0; i < k->count; i++) {
		fn(ctx, k->items[i]);
		free(k->items[i]);
	}
	free(k->items);
}

struct admission *admission_new(int64_t max_pods, int64_t max_pods_per_node, session_key_fn *granted, void *ctx)
{
	struct admission *a = mem_alloc(sizeof *a);
	pthread_mutex_init(&a->lock, NULL);
	budget_init(&a->budget, &(struct budget_limits){max_pods, max_pods_per_node, ADMISSION_MAX_JOBS_PER_NODE});
	a->granted = granted;
	a->ctx = ctx;
	return a;
}

static void drop_shown(struct admission *a, struct shown *s)
{
	HASH_DEL(a->shown, s);
	free(s->key);
	free(s);
}

static void drop_all_admissions(struct admission *a)
{
	struct shown *s, *next;
	HASH_ITER(hh, a->shown, s, next)
		drop_shown(a, s);
	struct budget_limits limits = a->budget.limits;
	budget_fini(&a->budget);
	budget_init(&a->budget, &limits);
}

void admission_free(struct admission *a)
{
	if (!a)
		return;
	drop_all_admissions(a);
	budget_fini(&a->budget);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

static struct shown *find_shown(struct admission *a, const char *key)
{
	struct shown *s = NULL;
	HASH_FIND_STR(a->shown, key, s);
	return s;
}

static struct shown *take_shown(struct admission *a, const char *key)
{
	struct shown *s = find_shown(a, key);
	if (s)
		return s;
	s = mem_alloc(sizeof *s);
	s->key = mem_strdup(key);
	HASH_ADD_KEYPTR(hh, a->shown, s->key, strlen(s->key), s);
	return s;
}

static void forget_shown(struct admission *a, const char *key)
{
	struct shown *s = find_shown(a, key);
	if (s)
		drop_shown(a, s);
}

/* Unlocks; then tells of those that were granted meanwhile, but for `self`, which is at work. */
static void unlock_and_grant(struct admission *a, const char *self)
{
	struct keys k = {0};
	if (a->open)
		budget_grant(&a->budget, collect, &k);
	for (size_t i = 0; i < k.count; i++)
		forget_shown(a, k.items[i]);
	pthread_mutex_unlock(&a->lock);
	for (size_t i = 0; self && i < k.count; i++) {
		if (strcmp(k.items[i], self) != 0)
			continue;
		free(k.items[i]);
		k.items[i] = k.items[--k.count];
	}
	call_for_keys(&k, a->granted, a->ctx);
}

static void explain_place(struct admission *a, const char *key, int64_t now_ms, struct buf *why)
{
	struct budget_place p;
	struct shown *s = take_shown(a, key);
	if (s->at_ms && now_ms - s->at_ms < ADMISSION_SHOW_MS)
		return;
	budget_look(&a->budget, key, &p);
	if (!p.place || p.place > p.of) {
		budget_count_places(&a->budget);
		budget_look(&a->budget, key, &p);
	}
	s->place = p.place;
	s->at_ms = now_ms;
	buf_printf(why, "place %zu of %zu in the queue: ", p.place, p.of);
	if (p.node && p.kept_for_short)
		buf_printf(why, "node %s has as many sessions of more than %d s as it may have at once (%" PRId64 ")", p.node, BUDGET_LONG_SECONDS,
			   a->budget.limits.max_pods_per_node - 1);
	else if (p.node)
		buf_printf(why, "node %s has as many sessions as it may have at once (%" PRId64 ")", p.node, a->budget.limits.max_pods_per_node);
	else
		buf_printf(why, "%" PRId64 " of the %" PRId64 " pods that may be profiled at once are in use", a->budget.used, a->budget.limits.max_pods);
}

static struct budget_request request_of(const char *key, const struct profiling_session *s)
{
	return (struct budget_request){.key = key, .namespace = s->namespace, .priority = (int)s->spec.priority, .created_ms = s->created_wall_ms,
				       .want = s->pod_count ? s->pod_count : (size_t)s->spec.target.max_pods,
				       .is_long = s->spec.duration_seconds > BUDGET_LONG_SECONDS};
}

static bool is_granted(struct admission *a, const char *key)
{
	struct budget_place p;
	return budget_look(&a->budget, key, &p) && p.granted;
}

bool admission_ask(struct admission *a, const char *key, const struct profiling_session *s, int64_t now_mono_ms, struct buf *why)
{
	struct budget_request r = request_of(key, s);
	pthread_mutex_lock(&a->lock);
	budget_ask(&a->budget, &r);
	unlock_and_grant(a, key);
	pthread_mutex_lock(&a->lock);
	bool granted = is_granted(a, key);
	if (!granted)
		explain_place(a, key, now_mono_ms, why);
	pthread_mutex_unlock(&a->lock);
	return granted;
}

bool admission_choose(struct admission *a, const char *key, const char *const *nodes, size_t count, int64_t now_mono_ms, struct buf *why)
{
	pthread_mutex_lock(&a->lock);
	bool granted = budget_choose(&a->budget, key, nodes, count);
	if (!granted)
		explain_place(a, key, now_mono_ms, why);
	unlock_and_grant(a, key);
	return granted;
}

void admission_release(struct admission *a, const char *key)
{
	pthread_mutex_lock(&a->lock);
	budget_release(&a->budget, key);
	forget_shown(a, key);
	unlock_and_grant(a, NULL);
}

static bool has_ended(const struct profiling_session *s)
{
	return session_object_completed(s) || !s->spec_valid || (session_object_unassigned(s) && (s->spec.cancel || session_object_deleting(s)));
}

/* The nodes of the pods that are worked on, then of those whose reports are on their way. */
static void fill_hold(const struct profiling_session *s, const char **nodes, struct budget_hold *h)
{
	*h = (struct budget_hold){.nodes = nodes};
	for (size_t i = 0; i < s->pod_count; i++) {
		if (s->pods[i].job.phase < JOB_ANALYZING)
			nodes[h->running++] = s->pods[i].node;
	}
	for (size_t i = 0; i < s->pod_count; i++) {
		enum job_phase phase = s->pods[i].job.phase;
		if (phase >= JOB_ANALYZING && !job_phase_is_final(phase))
			nodes[h->running + h->kept++] = s->pods[i].node;
	}
}

void admission_update(struct admission *a, const char *key, const struct profiling_session *s)
{
	const char *nodes[SESSION_MAX_TARGETS];
	struct budget_hold h;
	fill_hold(s, nodes, &h);
	bool unassigned = session_object_unassigned(s);
	if (has_ended(s) || (!unassigned && !h.running && !h.kept)) {
		admission_release(a, key);
		return;
	}
	struct budget_request r = request_of(key, s);
	pthread_mutex_lock(&a->lock);
	if (!unassigned)
		budget_hold(&a->budget, &r, &h);
	else if (!a->open)
		budget_ask(&a->budget, &r);
	unlock_and_grant(a, NULL);
}

void admission_reset(struct admission *a)
{
	pthread_mutex_lock(&a->lock);
	drop_all_admissions(a);
	a->open = false;
	pthread_mutex_unlock(&a->lock);
}

void admission_open(struct admission *a)
{
	pthread_mutex_lock(&a->lock);
	a->open = true;
	unlock_and_grant(a, NULL);
}

/* Deleted while its watch was away, it was never worked on again. */
static void release_deleted_sessions(struct admission *a, struct session_cache *cache)
{
	struct keys k = {0};
	pthread_mutex_lock(&a->lock);
	budget_each(&a->budget, collect, &k);
	pthread_mutex_unlock(&a->lock);
	for (size_t i = 0; i < k.count; i++) {
		if (!session_cache_is_active(cache, k.items[i]))
			admission_release(a, k.items[i]);
		free(k.items[i]);
	}
	free(k.items);
}

/* Those whose place is another than their status says, the longest first: `shown` is in the order of the first showing. */
static void find_outdated(struct admission *a, int64_t now_ms, struct keys *k)
{
	struct shown *s, *next;
	struct budget_place p;
	HASH_ITER(hh, a->shown, s, next) {
		if (k->count == ADMISSION_SHOWS_PER_TICK)
			return;
		if (s->at_ms && now_ms - s->at_ms >= ADMISSION_SHOW_MS && budget_look(&a->budget, s->key, &p) && !p.granted && p.place != s->place)
			collect(k, s->key);
	}
}

void admission_tick(struct admission *a, struct session_cache *cache, int64_t now_mono_ms, session_key_fn *show, void *ctx)
{
	struct keys k = {0};
	if (now_mono_ms - a->swept_ms >= SWEEP_EVERY_MS) {
		a->swept_ms = now_mono_ms;
		release_deleted_sessions(a, cache);
	}
	pthread_mutex_lock(&a->lock);
	if (a->budget.waiting && now_mono_ms - a->counted_ms >= COUNT_EVERY_MS) {
		a->counted_ms = now_mono_ms;
		budget_count_places(&a->budget);
	}
	find_outdated(a, now_mono_ms, &k);
	pthread_mutex_unlock(&a->lock);
	call_for_keys(&k, show, ctx);
}

struct admission_counts admission_count(struct admission *a)
{
	pthread_mutex_lock(&a->lock);
	struct admission_counts c = {a->budget.used, (int64_t)a->budget.waiting};
	pthread_mutex_unlock(&a->lock);
	return c;
}
