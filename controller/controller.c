#include "controller/controller.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "controller/admission.h"
#include "controller/kube_clock.h"
#include "controller/kube_watch.h"
#include "controller/leader.h"
#include "controller/metrics.h"
#include "controller/orphans.h"
#include "controller/reconcile.h"
#include "controller/trigger_observe.h"

#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define BACKOFF_LEAST_MS 20
#define BACKOFF_MOST_MS 60000
#define TRIM_EVERY_MS 15000

struct worker {
	struct controller *controller;
	struct kube_client *client;
	pthread_t thread;
	bool started;
};

struct controller {
	struct controller_options options;
	char identity[96];
	struct session_cache *cache;
	struct work_queue *queue;
	struct admission *admission;
	struct reveal_policy *reveal_policy;
	struct triggers *triggers;
	struct trigger_observe *observe;
	struct events *events;
	struct leader *leader;
	struct comparisons *comparisons;
	struct agent_hub *hub;
	struct reconciler reconciler;
	struct kube_watch *watches[CONTROLLER_MAX_NAMESPACES];
	size_t watch_count;
	pthread_mutex_t watches_lock; /* the thread that says whether we are ready looks at them */
	struct worker workers[CONTROLLER_MAX_WORKERS];
	atomic_llong epoch; /* 0: not leading */
	atomic_bool ready;
	int64_t trimmed_ms;
	struct orphans orphans;
};

/* Somebody waits for it: its turn in the budget has come. */
static void enqueue_urgent(void *ctx, const char *key)
{
	struct controller *c = ctx;
	work_queue_add_urgent(c->queue, key);
}

static void enqueue(void *ctx, const char *key)
{
	struct controller *c = ctx;
	work_queue_add(c->queue, key);
}

/* the watch -------------------------------------------------------------------------------------------------------- */

static void on_list_begin(void *ctx, const char *namespace)
{
	struct controller *c = ctx;
	session_cache_list_begin(c->cache, namespace);
	if (c->options.index)
		session_index_list_begin(c->options.index, namespace);
	triggers_sessions_list_begin(c->triggers, namespace);
}

static void on_list_end(void *ctx, const char *namespace)
{
	struct controller *c = ctx;
	session_cache_list_end(c->cache, namespace);
	if (c->options.index)
		session_index_list_end(c->options.index, namespace, c->options.on_session, c->options.on_session_ctx);
	triggers_sessions_list_end(c->triggers, namespace);
}

/* What is listed and shown; objects that the reconciler does not understand, too. */
static void show(struct controller *c, bool deleted, const json_t *object)
{
	const char *namespace = jsonx_str_at(object, "metadata.namespace", ""), *name = jsonx_str_at(object, "metadata.name", "");
	if (!c->options.index)
		return;
	bool changed = deleted ? session_index_remove(c->options.index, namespace, name, jsonx_str_at(object, "metadata.uid", NULL))
			       : session_index_put(c->options.index, object);
	if (changed && c->options.on_session)
		c->options.on_session(c->options.on_session_ctx, namespace, name);
}

/* A new session, or one that is to end: what others tell of their progress can wait for a moment. */
static bool is_waited_for(const struct profiling_session *s)
{
	bool completed = session_object_completed(s);
	return !completed && (!s->pod_count || session_object_deleting(s) || (s->spec_valid && s->spec.cancel));
}

static void on_object(void *ctx, bool deleted, const json_t *object)
{
	struct controller *c = ctx;
	struct profiling_session s;
	struct err e = ERR_INIT;
	show(c, deleted, object);
	if (session_object_from_json(object, &s, &e) < 0) {
		metrics_count("drdotnet_watch_objects_dropped_total", "reason", "malformed", "Objects of the watch that were not understood.");
		LOG_WARN("controller", "object not understood", LOG_S("error", e.message));
		return;
	}
	triggers_session(c->triggers, deleted, object);
	char key[SESSION_KEY_SIZE];
	session_object_key(&s, key);
	bool urgent = is_waited_for(&s);
	if (deleted) {
		session_cache_remove(c->cache, key, s.uid);
		admission_release(c->admission, key);
		session_object_fini(&s);
	} else if (session_cache_put_take(c->cache, &s) && atomic_load(&c->epoch)) {
		(urgent ? enqueue_urgent : enqueue)(c, key);
	}
}

static int start_watch(struct controller *c, const char *namespace, struct err *e)
{
	if (c->watch_count == CONTROLLER_MAX_NAMESPACES)
		return err_set(e, ERR_INVALID, 0, "--namespaces: more than %d", CONTROLLER_MAX_NAMESPACES);
	struct kube_watch_options o = {
		.config = c->options.kube,
		.api = KUBE_SESSIONS,
		.plural = SESSION_PLURAL,
		.namespace = namespace,
		.stall_timeout_ms = c->options.watch_stall_ms,
		.page_limit = c->options.watch_page_limit,
		.stream_above = c->options.watch_stream_above,
		.callbacks = {c, on_list_begin, on_list_end, on_object},
	};
	struct kube_watch *w = kube_watch_start(&o, e);
	if (!w)
		return -1;
	pthread_mutex_lock(&c->watches_lock);
	c->watches[c->watch_count++] = w;
	pthread_mutex_unlock(&c->watches_lock);
	return triggers_watch(c->triggers, namespace, e);
}

static int start_watches(struct controller *c, struct err *e)
{
	if (!c->options.namespaces || !c->options.namespaces[0])
		return start_watch(c, NULL, e);
	AUTO_FREE char *list = mem_strdup(c->options.namespaces);
	char *rest = NULL;
	for (char *ns = strtok_r(list, ", ", &rest); ns; ns = strtok_r(NULL, ", ", &rest)) {
		if (start_watch(c, ns, e) < 0)
			return -1;
	}
	return c->watch_count ? 0 : err_set(e, ERR_INVALID, 0, "--namespaces: empty");
}

static int wait_synced(struct controller *c, int stop_fd, struct err *e)
{
	struct pollfd p = {.fd = stop_fd, .events = POLLIN};
	size_t synced = 0;
	while (synced < c->watch_count) {
		if (kube_watch_synced(c->watches[synced]))
			synced++;
		else if (poll(&p, 1, 5) > 0)
			return err_set(e, ERR_CANCELED, 0, "asked to stop while sessions were listed");
	}
	return 0;
}

/* the agents' links --------------------------------------------------------------------------------------------------- */

static void on_job(void *ctx, const char *node, const struct link_job *job)
{
	static const char help[] = "Job reports of agents that were not taken, by why.";
	struct controller *c = ctx;
	char key[RECONCILE_ORPHAN_KEY_SIZE];
	switch (session_cache_job(c->cache, node, job, key)) {
	case SESSION_JOB_TAKEN:
		if (atomic_load(&c->epoch))
			work_queue_add(c->queue, key);
		return;
	case SESSION_JOB_ORPHAN:
		metrics_count("drdotnet_job_reports_dropped_total", "reason", "orphan", help);
		reconcile_orphan_key(node, job, key);
		orphans_add(&c->orphans, &c->epoch, c->queue, key);
		return;
	case SESSION_JOB_FOREIGN:
		metrics_count("drdotnet_job_reports_dropped_total", "reason", "foreign", help);
		LOG_WARN("controller", "a node speaks of a job that it was not given", LOG_S("node", node), LOG_S("job", job->job_id));
	}
}

static void on_node(void *ctx, const char *node, bool linked, int64_t highest_epoch)
{
	(void)highest_epoch; /* the election reads the hub's own maximum */
	struct controller *c = ctx;
	session_cache_node(c->cache, node, linked, clock_mono_ms());
	if (linked)
		trigger_observe_node(c->observe, node);
	if (atomic_load(&c->epoch))
		session_cache_each_waiting_for(c->cache, node, enqueue, c);
}

static void on_observed(void *ctx, const char *node, const struct link_observed *items, size_t count)
{
	trigger_observe_heard(((struct controller *)ctx)->observe, node, items, count);
}

static int on_upload(void *ctx, const char *node, const char *job_id, const struct link_report *r, char store[64], char key_prefix[512],
		     struct err *e)
{
	struct controller *c = ctx;
	struct session_upload u;
	if (session_cache_grant(c->cache, node, job_id, r, &u, e) < 0)
		return -1;
	memcpy(store, u.store, sizeof u.store);
	return session_report_prefix(u.namespace, u.name, u.uid, u.pod_name, key_prefix, 512, e);
}

static void on_processes(void *ctx, const char *node, const struct link_processes *answer)
{
	struct controller *c = ctx;
	if (c->options.processes)
		process_queries_on_answer(c->options.processes, node, answer);
}

void controller_hub_callbacks(struct controller *c, struct agent_hub_callbacks *out)
{
	*out = (struct agent_hub_callbacks){.ctx = c, .on_job = on_job, .on_node = on_node, .on_observed = on_observed,
					    .on_upload = on_upload, .on_processes = on_processes};
}

/* the workers ------------------------------------------------------------------------------------------------------- */

static enum work_result work_on(struct worker *w, const char *key)
{
	struct controller *c = w->controller;
	struct err e = ERR_INIT;
	int64_t begun_ms = clock_mono_ms();
	int rc = reconcile(&c->reconciler, w->client, key, &e);
	metric_observe_ms(metrics_histogram("drdotnet_reconcile_seconds", NULL, "Time of one reconcile."), clock_mono_ms() - begun_ms);
	if (rc == 0)
		return WORK_DONE;
	metrics_count("drdotnet_reconcile_errors_total", "kind", err_kind_name(e.kind), "Reconciles that failed and are repeated.");
	if (e.kind == ERR_CONFLICT)
		LOG_DEBUG("controller", "changed meanwhile", LOG_S("session", key), LOG_S("error", e.message));
	else
		LOG_WARN("controller", "will try again", LOG_S("session", key), LOG_S("error", e.message), LOG_S("kind", err_kind_name(e.kind)));
	return WORK_FAILED;
}

static void *run_worker(void *arg)
{
	struct worker *w = arg;
	struct work_queue *queue = w->controller->queue;
	for (char *key; (key = work_queue_take(queue)); free(key)) {
		bool leading = atomic_load(&w->controller->epoch) != 0;
		work_queue_finish(queue, key, leading ? work_on(w, key) : WORK_DONE);
	}
	return NULL;
}

static int start_workers(struct controller *c, struct err *e)
{
	for (int i = 0; i < c->options.worker_count; i++) {
		struct worker *w = &c->workers[i];
		w->controller = c;
		w->client = kube_client_new(c->options.kube, -1, e);
		if (!w->client)
			return -1;
		int rc = pthread_create(&w->thread, NULL, run_worker, w);
		if (rc)
			return err_set_errno(e, rc, "starting a worker");
		w->started = true;
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

static void on_leadership(void *ctx, int64_t epoch)
{
	struct controller *c = ctx;
	if (epoch) {
		admission_reset(c->admission);
		session_cache_each_active(c->cache, count_session, c);
	}
	agent_hub_set_epoch(c->hub, epoch); /* first: from now on orders are refused, or carry the new epoch */
	atomic_store(&c->epoch, epoch);
	triggers_lead(c->triggers, epoch != 0);
	trigger_observe_lead(c->observe, epoch != 0);
	if (!epoch)
		return;
	admission_open(c->admission);
	session_cache_each_active(c->cache, enqueue, c);
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
	c->triggers = triggers_new(&(struct triggers_options){.kube = o->kube, .watch_stall_ms = o->watch_stall_ms});
	c->observe = trigger_observe_new();
	c->queue = work_queue_new((size_t)o->worker_count, BACKOFF_LEAST_MS, BACKOFF_MOST_MS);
	c->reveal_policy = reveal_policy_new();
	c->admission = admission_new(o->max_pods ? o->max_pods : CONTROLLER_MAX_PODS,
				     o->max_pods_per_node ? o->max_pods_per_node : CONTROLLER_MAX_PODS_PER_NODE, enqueue_urgent, c);
	return c;
}

int controller_start(struct controller *c, struct agent_hub *hub, int stop_fd, struct err *e)
{
	c->hub = hub;
	c->events = events_start(c->options.kube, c->identity, e);
	if (!c->events)
		return -1;
	c->comparisons = comparisons_start(&(struct comparisons_options){c->options.kube, c->options.stores, enqueue, c}, e);
	if (!c->comparisons)
		return -1;
	c->reconciler = (struct reconciler){c->cache,  hub, c->queue, c->admission, c->reveal_policy, c->events, c->options.report_url,
					    c->options.report_url_ctx, c->comparisons, c->options.stores};
	struct trigger_observe_options observed = {c->options.kube, c->triggers, hub, c->events};
	if (start_watches(c, e) < 0 || wait_synced(c, stop_fd, e) < 0 || start_workers(c, e) < 0 || triggers_start(c->triggers, c->events, e) < 0 ||
	    trigger_observe_start(c->observe, &observed, e) < 0 || start_leader(c, e) < 0)
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

void controller_tick(struct controller *c)
{
	triggers_tick(c->triggers);
	trim_memory(c);
	size_t active, over;
	session_cache_counts(c->cache, &active, &over);
	metric_set(metrics_gauge("drdotnet_sessions", "state=\"active\"", "Sessions known."), (int64_t)active);
	metric_set(metrics_gauge("drdotnet_sessions", "state=\"over\"", "Sessions known."), (int64_t)over);
	metric_set(metrics_gauge("drdotnet_work_queue_depth", NULL, "Keys that are due, waiting or in work."), (int64_t)work_queue_depth(c->queue));
	metric_set(metrics_gauge("drdotnet_agents_linked", NULL, "Agents linked to this replica."), (int64_t)agent_hub_count(c->hub));
	if (c->options.index)
		metric_set(metrics_gauge("drdotnet_session_index_bytes", NULL, "Memory of the index of sessions."),
			   (int64_t)session_index_size(c->options.index).bytes);
	struct admission_counts admitted = admission_count(c->admission);
	metric_set(metrics_gauge("drdotnet_pods_in_use", NULL, "Pods that are profiled, or are about to be."), admitted.used);
	metric_set(metrics_gauge("drdotnet_sessions_queued", NULL, "Sessions that wait for a budget."), admitted.waiting);
	if (!atomic_load(&c->epoch))
		return;
	session_cache_each_expired(c->cache, kube_clock_wall_ms(), enqueue, c);
	admission_tick(c->admission, c->cache, clock_mono_ms(), enqueue, c);
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
	reveal_policy_free(c->reveal_policy);
	work_queue_free(c->queue);
	session_cache_free(c->cache);
	trigger_observe_free(c->observe);
	triggers_free(c->triggers);
	free(c);
}
