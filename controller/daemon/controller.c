#include "controller/daemon/controller_private.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"
#include "controller/kube/kube_clock.h"
#include "controller/base/metrics.h"
#include "controller/sessions/session_cache_each.h"
#include "controller/sessions/session_counts.h"
#include "controller/sessions/session_health.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#define BACKOFF_LEAST_MS 20
#define BACKOFF_MOST_MS 60000
#define TRIM_EVERY_MS 15000
#define TICK_MS 1000
#define IDLE_TICK_MS 5000

void controller_enqueue_urgent(void *ctx, const char *key)
{
	struct controller *c = ctx;
	work_queue_add_urgent(c->queue, key);
}

void controller_enqueue(void *ctx, const char *key)
{
	struct controller *c = ctx;
	work_queue_add(c->queue, key);
}

/* the workers ------------------------------------------------------------------------------------------------------- */

static enum work_result work_on(struct worker *w, const char *key)
{
	struct controller *c = w->controller;
	struct err e = ERR_INIT;
	int64_t begun_ms = clock_mono_ms();
	int rc = reconcile(&c->reconciler, w->client, key, &e);
	metrics_observe_ms(METRIC_RECONCILE_TIME, clock_mono_ms() - begun_ms);
	if (rc == 0)
		return WORK_DONE;
	metrics_count(METRIC_RECONCILE_ERRORS, err_kind_name(e.kind));
	if (e.kind == ERR_CONFLICT)
		LOG_DEBUG("controller", "changed meanwhile", LOG_S("session", key), LOG_S("error", e.message));
	else
		LOG_WARN("controller", "will try again", LOG_S("session", key), LOG_S("error", e.message), LOG_S("kind", err_kind_name(e.kind)));
	return WORK_FAILED;
}

static void *run_controller_worker(void *arg)
{
	struct worker *w = arg;
	struct work_queue *queue = w->controller->queue;
	for (char *key; (key = work_queue_take(queue)); free(key)) {
		bool leading = atomic_load(&w->controller->epoch) != 0;
		work_queue_finish(queue, key, leading ? work_on(w, key) : WORK_DONE);
	}
	return NULL;
}

static int start_controller_workers(struct controller *c, struct err *e)
{
	for (int i = 0; i < c->options.worker_count; i++) {
		struct worker *w = &c->workers[i];
		w->controller = c;
		w->client = kube_client_new(c->options.kube, -1, e);
		if (!w->client)
			return -1;
		w->started = thread_start(&w->thread, "worker", THREAD_STACK_USUAL, run_controller_worker, w, e) == 0;
		if (!w->started)
			return -1;
	}
	return 0;
}

static void stop_workers(struct controller *c)
{
	work_queue_shutdown(c->queue);
	for (int i = 0; i < CONTROLLER_MAX_WORKERS; i++) {
		struct worker *w = &c->workers[i];
		if (w->started)
			pthread_join(w->thread, NULL);
		kube_client_free(w->client);
		*w = (struct worker){0};
	}
}

/* leading ------------------------------------------------------------------------------------------------------------ */

/* What the sessions that go on occupy, whoever began them. */
static void count_session(void *ctx, const char *key)
{
	struct controller *c = ctx;
	struct profiling_session s;
	AUTO_FREE struct plan_pod_view *views = NULL;
	int64_t ignored;
	if (session_cache_get(c->cache, key, clock_mono_ms(), &s, &views, &ignored) == SESSION_ACTIVE)
		admission_update(c->admission, key, &s);
	session_object_fini(&s);
}

/* A session that the watch has not told of, or whose pods: the API server is asked. */
static void add_orphan(void *ctx, const char *node, const struct link_job *job)
{
	struct controller *c = ctx;
	orphans_add(&c->orphans, &c->epoch, c->queue, node, job);
}

static void on_leadership(void *ctx, int64_t epoch)
{
	struct controller *c = ctx;
	starts_reset(c->starts);
	if (epoch) {
		admission_reset(c->admission);
		session_cache_each_active(c->cache, count_session, c);
	}
	session_cache_lead(c->cache, epoch, clock_mono_ms()); /* agents answer to the epoch with what they have */
	agent_hub_set_epoch(c->hub, epoch); /* first: from now on orders are refused, or carry the new epoch */
	atomic_store(&c->epoch, epoch);
	triggers_lead(c->triggers, epoch != 0);
	trigger_observe_lead(c->observe, epoch != 0);
	if (!epoch)
		return;
	admission_open(c->admission);
	session_cache_each_active(c->cache, controller_enqueue, c);
	session_cache_each_early(c->cache, add_orphan, c);
	orphans_settle(&c->orphans, c->queue);
}

static int64_t highest_epoch(void *ctx, int64_t most)
{
	return agent_hub_highest_epoch(((struct controller *)ctx)->hub, most);
}

static int start_leader(struct controller *c, struct err *e)
{
	struct leader_options o = {
		.config = c->options.kube,
		.namespace = c->options.lease_namespace,
		.name = c->options.lease_name,
		.identity = c->identity,
		.ctx = c,
		.on_change = on_leadership,
		.highest_epoch = highest_epoch,
	};
	c->leader = leader_start(&o, e);
	return c->leader ? 0 : -1;
}

/* life --------------------------------------------------------------------------------------------------------------- */

static void triggers_changed(void *ctx)
{
	trigger_observe_changed(ctx);
}

struct controller *controller_new(const struct controller_options *o, struct err *e)
{
	if (o->worker_count < 1 || o->worker_count > CONTROLLER_MAX_WORKERS) {
		err_set(e, ERR_INVALID, 0, "--workers: must be between 1 and %d", CONTROLLER_MAX_WORKERS);
		return NULL;
	}
	struct controller *c = mem_alloc(sizeof *c);
	c->options = *o;
	leader_identity(c->identity, sizeof c->identity);
	orphans_init(&c->orphans);
	pthread_mutex_init(&c->watches_lock, NULL);
	c->cache = session_cache_new();
	c->observe = trigger_observe_new();
	c->triggers = triggers_new(&(struct triggers_options){o->kube, o->watch_stall_ms, triggers_changed, c->observe});
	c->queue = work_queue_new((size_t)o->worker_count, BACKOFF_LEAST_MS, BACKOFF_MOST_MS);
	c->starts = starts_new(o->kube);
	c->reveal_policy = reveal_policy_new();
	c->admission = admission_new(o->max_pods ? o->max_pods : CONTROLLER_MAX_PODS,
				     o->max_pods_per_node ? o->max_pods_per_node : CONTROLLER_MAX_PODS_PER_NODE, controller_enqueue_urgent, c);
	return c;
}

int controller_start(struct controller *c, struct agent_hub *hub, int stop_fd, struct err *e)
{
	c->hub = hub;
	session_counts_begin();
	for (enum err_kind k = ERR_RETRY; k <= ERR_INTERNAL; k++)
		metrics_add(METRIC_RECONCILE_ERRORS, err_kind_name(k), 0);
	c->events = events_start(c->options.kube, c->identity, e);
	if (!c->events)
		return -1;
	c->comparisons = comparisons_start(&(struct comparisons_options){c->options.kube, c->options.stores, controller_enqueue, c}, e);
	if (!c->comparisons)
		return -1;
	c->reconciler = (struct reconciler){c->cache,  hub, c->queue, &c->orphans, c->admission, c->reveal_policy, c->events, c->options.report_url,
					    c->options.report_url_ctx, c->comparisons, c->starts, c->options.no_starts, c->options.stores};
	struct trigger_observe_options observed = {c->options.kube, c->triggers, hub, c->events};
	if (controller_watch_start(c, e) < 0 || controller_watch_wait(c, stop_fd, e) < 0 || start_controller_workers(c, e) < 0 ||
	    triggers_start(c->triggers, c->events, e) < 0 || trigger_observe_start(c->observe, &observed, e) < 0 || start_leader(c, e) < 0)
		return -1;
	atomic_store(&c->ready, true);
	return 0;
}

struct triggers *controller_triggers(struct controller *c)
{
	return c->triggers;
}

/* Hand-shakes and bursts of sessions leave holes between what stays: the kernel gets their pages back. */
static void trim_memory(struct controller *c)
{
	if (clock_mono_ms() - c->trimmed_ms >= TRIM_EVERY_MS) {
		malloc_trim(0);
		c->trimmed_ms = clock_mono_ms();
	}
}

void controller_measure(struct controller *c)
{
	size_t active, over;
	if (!atomic_load(&c->ready))
		return;
	triggers_measure(c->triggers);
	session_cache_counts(c->cache, &active, &over);
	metrics_set(METRIC_SESSIONS, "active", (int64_t)active);
	metrics_set(METRIC_SESSIONS, "over", (int64_t)over);
	metrics_set(METRIC_WORK_QUEUE_DEPTH, NULL, (int64_t)work_queue_depth(c->queue));
	metrics_set(METRIC_AGENTS_LINKED, NULL, (int64_t)agent_hub_count(c->hub));
	if (c->options.index) {
		session_health_measure(c->options.index);
		metrics_set(METRIC_SESSION_INDEX_BYTES, NULL, (int64_t)session_index_size(c->options.index).bytes);
	}
	struct admission_counts admitted = admission_count(c->admission);
	metrics_set(METRIC_PODS_IN_USE, NULL, admitted.used);
	metrics_set(METRIC_SESSIONS_QUEUED, NULL, admitted.waiting);
	struct starts_counts awaited = starts_count(c->starts);
	metrics_set(METRIC_STARTS_AWAITED, "sessions", awaited.sessions);
	metrics_set(METRIC_STARTS_AWAITED, "pods", awaited.pods);
}

int64_t controller_tick(struct controller *c)
{
	size_t active, over;
	triggers_tick(c->triggers);
	trim_memory(c);
	if (atomic_load(&c->epoch)) {
		session_cache_each_expired(c->cache, kube_clock_wall_ms(), controller_enqueue, c);
		admission_tick(c->admission, c->cache, clock_mono_ms(), controller_enqueue, c);
		starts_tick(c->starts, c->hub, clock_mono_ms(), controller_enqueue, c);
	}
	session_cache_counts(c->cache, &active, &over);
	return active ? TICK_MS : IDLE_TICK_MS;
}

bool controller_ready(struct controller *c, struct buf *why)
{
	if (atomic_load(&c->ready))
		return true;
	char met[ERR_MESSAGE_SIZE] = "";
	pthread_mutex_lock(&c->watches_lock);
	for (size_t i = 0; i < c->watch_count && !met[0]; i++) {
		if (!kube_watch_synced(c->watches[i]))
			kube_watch_why(c->watches[i], met, sizeof met);
	}
	pthread_mutex_unlock(&c->watches_lock);
	if (why)
		buf_printf(why, "the sessions are not known yet%s%s\n", met[0] ? ": " : "", met);
	return false;
}

void controller_stop(struct controller *c)
{
	atomic_store(&c->ready, false);
	pthread_mutex_lock(&c->watches_lock);
	size_t count = c->watch_count;
	c->watch_count = 0;
	pthread_mutex_unlock(&c->watches_lock);
	for (size_t i = 0; i < count; i++)
		kube_watch_stop(c->watches[i]);
	comparisons_stop(c->comparisons);
	stop_workers(c);
	comparisons_free(c->comparisons);
	c->comparisons = NULL;
	trigger_observe_stop(c->observe);
	triggers_stop(c->triggers);
	leader_stop(c->leader);
	c->leader = NULL;
	events_stop(c->events);
	c->events = NULL;
}

void controller_free(struct controller *c)
{
	if (!c)
		return;
	orphans_fini(&c->orphans);
	pthread_mutex_destroy(&c->watches_lock);
	admission_free(c->admission);
	starts_free(c->starts);
	reveal_policy_free(c->reveal_policy);
	work_queue_free(c->queue);
	session_cache_free(c->cache);
	trigger_observe_free(c->observe);
	triggers_free(c->triggers);
	free(c);
}
