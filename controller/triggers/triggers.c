#include "controller/triggers/triggers.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"
#include "controller/kube/kube_clock.h"
#include "controller/kube/kube_watch.h"
#include "controller/base/metrics.h"
#include "controller/triggers/trigger_reconcile.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MAX_WATCHES 32
#define CLOCK_SET_MS 2000
#define CALL_MS 5000 /* sources wait for the outcome */
#define BACKOFF_LEAST_MS 50
#define BACKOFF_MOST_MS 30000

struct triggers {
	struct triggers_options options;
	struct trigger_table *table;
	struct trigger_sessions *sessions;
	struct work_queue *queue;
	struct events *events;
	pthread_mutex_t watches_lock; /* sources ask whether all have listed */
	struct kube_watch *watches[MAX_WATCHES];
	size_t watch_count;
	struct kube_client *client;
	int cancel_fd;
	pthread_t thread;
	bool started; /* under watches_lock */
	atomic_bool leading;
	int64_t clock_offset_ms; /* of triggers_tick */
};

static void enqueue_trigger(void *ctx, const char *key)
{
	work_queue_add(((struct triggers *)ctx)->queue, key);
}

/* the watch ---------------------------------------------------------------------------------------------------------- */

static void on_triggers_list_begin(void *ctx, const char *namespace)
{
	trigger_table_list_begin(((struct triggers *)ctx)->table, namespace);
}

static void tell_changed(struct triggers *t)
{
	if (t->options.on_change)
		t->options.on_change(t->options.ctx);
}

static void on_triggers_list_end(void *ctx, const char *namespace)
{
	struct triggers *t = ctx;
	trigger_table_list_end(t->table, namespace);
	tell_changed(t);
}

static void on_trigger_object(void *ctx, bool deleted, const json_t *object)
{
	struct triggers *t = ctx;
	struct err e = ERR_INIT;
	struct profiling_trigger *o = trigger_object_from_json(object, &e);
	if (!o) {
		metrics_count(METRIC_WATCH_OBJECTS_DROPPED, "malformed");
		LOG_WARN("triggers", "object not understood", LOG_S("error", e.message));
		return;
	}
	char key[TRIGGER_KEY_SIZE];
	trigger_object_key(o, key);
	if (deleted) {
		trigger_table_remove(t->table, key, o->uid);
		trigger_unref(o);
	} else if (trigger_table_put_take(t->table, o) && atomic_load(&t->leading)) {
		work_queue_add(t->queue, key);
	}
	tell_changed(t);
}

int triggers_watch(struct triggers *t, const char *namespace, struct err *e)
{
	if (t->watch_count == MAX_WATCHES)
		return err_set(e, ERR_INVALID, 0, "--watch-namespaces: more than %d", MAX_WATCHES);
	struct kube_watch_options o = {
		.config = t->options.kube,
		.api = KUBE_SESSIONS,
		.plural = TRIGGER_PLURAL,
		.namespace = namespace,
		.stall_timeout_ms = t->options.watch_stall_ms,
		.callbacks = {t, on_triggers_list_begin, on_triggers_list_end, on_trigger_object},
	};
	struct kube_watch *w = kube_watch_start(&o, e);
	if (!w)
		return -1;
	pthread_mutex_lock(&t->watches_lock);
	t->watches[t->watch_count++] = w;
	pthread_mutex_unlock(&t->watches_lock);
	return 0;
}

bool triggers_synced(struct triggers *t)
{
	pthread_mutex_lock(&t->watches_lock);
	bool synced = t->started;
	for (size_t i = 0; i < t->watch_count; i++)
		synced = synced && kube_watch_synced(t->watches[i]);
	pthread_mutex_unlock(&t->watches_lock);
	return synced;
}

void triggers_sessions_list_begin(struct triggers *t, const char *namespace)
{
	trigger_sessions_list_begin(t->sessions, namespace);
}

void triggers_sessions_list_end(struct triggers *t, const char *namespace)
{
	trigger_sessions_list_end(t->sessions, namespace, enqueue_trigger, t);
}

void triggers_session(struct triggers *t, bool deleted, const json_t *object)
{
	struct trigger_sessions_change change;
	if (!trigger_sessions_put(t->sessions, deleted, object, &change) || !atomic_load(&t->leading))
		return;
	if (change.gone)
		trigger_table_note(t->table, change.trigger_key, TRIGGER_NOTE_GONE, change.session, NULL);
	work_queue_add(t->queue, change.trigger_key);
}

/* firing --------------------------------------------------------------------------------------------------------------- */

static int fire_trigger(struct triggers *t, const struct trigger_firing *f, trigger_outcome_fn *done, void *ctx, struct trigger_outcome *out, struct err *e)
{
	bool wakes;
	struct err why = ERR_INIT;
	if (trigger_table_fire(t->table, f, done, ctx, kube_clock_wall_ms(), out, &wakes, &why) < 0) {
		if (!triggers_synced(t))
			return err_set(e, ERR_RETRY, 0, "the triggers are not known yet");
		*e = why;
		return -1;
	}
	if (wakes) {
		char key[TRIGGER_KEY_SIZE];
		snprintf(key, sizeof key, "%.63s/%.253s", f->namespace, f->trigger);
		work_queue_add(t->queue, key);
	}
	if (out->reason)
		metrics_count(METRIC_TRIGGER_FIRINGS, out->reason);
	return 0;
}

int triggers_fire(struct triggers *t, const struct trigger_firing *f, trigger_outcome_fn *done, void *ctx, struct err *e)
{
	struct trigger_outcome o = {0};
	if (fire_trigger(t, f, done, ctx, &o, e) < 0)
		return -1;
	if (o.reason && done)
		done(ctx, &o);
	return 0;
}

/* Shared by the one who waits and the worker; the last of them frees it. */
struct awaited {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct trigger_outcome outcome;
	bool answered, left;
};

static void awaited_free(struct awaited *a)
{
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

static void on_outcome(void *ctx, const struct trigger_outcome *o)
{
	struct awaited *a = ctx;
	pthread_mutex_lock(&a->lock);
	a->outcome = *o;
	a->answered = true;
	bool left = a->left;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	if (left)
		awaited_free(a);
}

static struct awaited *awaited_new(void)
{
	struct awaited *a = mem_alloc(sizeof *a);
	pthread_mutex_init(&a->lock, NULL);
	thread_cond_init(&a->changed);
	return a;
}

static void await_outcome(struct awaited *a, int64_t until_mono_ms, struct trigger_outcome *out)
{
	pthread_mutex_lock(&a->lock);
	while (!a->answered && thread_cond_wait_until(&a->changed, &a->lock, until_mono_ms) == 0)
		;
	bool answered = a->answered;
	a->left = !answered;
	if (answered)
		*out = a->outcome;
	pthread_mutex_unlock(&a->lock);
	if (answered) {
		awaited_free(a);
		return;
	}
	*out = (struct trigger_outcome){.verdict = TRIGGER_TRY_AGAIN, .reason = TRIGGER_REASON_Unreachable};
	snprintf(out->message, sizeof out->message, "%s", trigger_reason_remedy(out->reason));
}

int triggers_fire_wait(struct triggers *t, const struct trigger_firing *f, int64_t timeout_ms, struct trigger_outcome *out, struct err *e)
{
	struct awaited *a = awaited_new();
	int64_t until = clock_mono_ms() + timeout_ms;
	*out = (struct trigger_outcome){0};
	int rc = fire_trigger(t, f, on_outcome, a, out, e);
	if (rc == 0 && !out->reason)
		await_outcome(a, until, out);
	else
		awaited_free(a);
	return rc;
}

struct profiling_trigger **triggers_of_source(struct triggers *t, enum trigger_source source, const char *namespace, size_t *count)
{
	return trigger_table_of_source(t->table, source, namespace, count);
}

uint64_t triggers_revision(struct triggers *t)
{
	return trigger_table_revision(t->table);
}

/* the worker ----------------------------------------------------------------------------------------------------------- */

static void *run_trigger_worker(void *arg)
{
	struct triggers *t = arg;
	struct trigger_reconciler r = {t->client, t->table, t->sessions, t->queue, t->events};
	for (char *key; (key = work_queue_take(t->queue)); free(key)) {
		struct err e = ERR_INIT;
		int rc = trigger_reconcile(&r, key, atomic_load(&t->leading), &e);
		if (rc < 0) {
			metrics_count(METRIC_TRIGGER_ERRORS, err_kind_name(e.kind));
			LOG_WARN("triggers", "will try again", LOG_S("trigger", key), LOG_S("error", e.message), LOG_S("kind", err_kind_name(e.kind)));
		}
		work_queue_finish(t->queue, key, rc == 0 ? WORK_DONE : WORK_FAILED);
	}
	return NULL;
}

void triggers_lead(struct triggers *t, bool leading)
{
	atomic_store(&t->leading, leading);
	if (leading)
		trigger_table_each(t->table, enqueue_trigger, t);
}

/* What waits for a time waits by our monotonic clock: when the API server's is set, all is looked at again. */
static void follow_clock(struct triggers *t)
{
	int64_t offset_ms = kube_clock_wall_ms() - clock_mono_ms(), moved_ms = offset_ms - t->clock_offset_ms;
	if (moved_ms > -CLOCK_SET_MS && moved_ms < CLOCK_SET_MS)
		return;
	t->clock_offset_ms = offset_ms;
	if (atomic_load(&t->leading))
		trigger_table_each(t->table, enqueue_trigger, t);
}

void triggers_tick(struct triggers *t)
{
	follow_clock(t);
}

void triggers_measure(struct triggers *t)
{
	metrics_set(METRIC_TRIGGERS, NULL, (int64_t)trigger_table_count(t->table));
}

/* life ----------------------------------------------------------------------------------------------------------------- */

struct triggers *triggers_new(const struct triggers_options *o)
{
	struct triggers *t = mem_alloc(sizeof *t);
	t->options = *o;
	t->cancel_fd = -1;
	pthread_mutex_init(&t->watches_lock, NULL);
	t->table = trigger_table_new();
	t->sessions = trigger_sessions_new();
	t->queue = work_queue_new(1, BACKOFF_LEAST_MS, BACKOFF_MOST_MS);
	return t;
}

int triggers_start(struct triggers *t, struct events *events, struct err *e)
{
	t->events = events;
	t->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->cancel_fd < 0)
		return err_set_errno(e, errno, "eventfd");
	t->client = kube_client_new(t->options.kube, t->cancel_fd, e);
	if (!t->client)
		return -1;
	kube_client_set_timeout(t->client, CALL_MS);
	if (thread_start(&t->thread, "triggers", THREAD_STACK_USUAL, run_trigger_worker, t, e) < 0)
		return -1;
	pthread_mutex_lock(&t->watches_lock);
	t->started = true;
	pthread_mutex_unlock(&t->watches_lock);
	return 0;
}

/* From now on nobody looks at the watches; returns whether the worker runs. */
static bool stop_watches(struct triggers *t)
{
	struct kube_watch *watches[MAX_WATCHES];
	pthread_mutex_lock(&t->watches_lock);
	size_t count = t->watch_count;
	bool started = t->started;
	memcpy(watches, t->watches, sizeof watches);
	t->watch_count = 0;
	t->started = false;
	pthread_mutex_unlock(&t->watches_lock);
	for (size_t i = 0; i < count; i++)
		kube_watch_stop(watches[i]);
	return started;
}

void triggers_stop(struct triggers *t)
{
	if (!t)
		return;
	atomic_store(&t->leading, false);
	bool started = stop_watches(t);
	work_queue_shutdown(t->queue);
	if (t->cancel_fd >= 0)
		eventfd_write(t->cancel_fd, 1);
	if (started)
		pthread_join(t->thread, NULL);
	trigger_table_close(t->table);
	kube_client_free(t->client);
	t->client = NULL;
	if (t->cancel_fd >= 0)
		close(t->cancel_fd);
	t->cancel_fd = -1;
}

void triggers_free(struct triggers *t)
{
	if (!t)
		return;
	trigger_table_free(t->table);
	trigger_sessions_free(t->sessions);
	work_queue_free(t->queue);
	pthread_mutex_destroy(&t->watches_lock);
	free(t);
}
