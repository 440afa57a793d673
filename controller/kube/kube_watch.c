#include "controller/kube/kube_watch.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"
#include "controller/base/metrics.h"
#include "controller/kube/watch_retry.h"
#include "controller/kube/watch_stream.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#define PAGE_LIMIT 100
#define STREAM_ABOVE 500 /* objects: fewer are there sooner by pages */
#define INITIAL_EVENTS_END "k8s.io/initial-events-end"
#define STALL_TIMEOUT_MS 100000
#define WATCH_SECONDS 290
#define SHORT_WATCH_MS 1000

struct kube_watch {
	struct kube_watch_options options;
	char *namespace;
	struct kube_client *client;
	int cancel_fd;
	pthread_t thread;
	atomic_bool synced;
	char resource_version[64]; /* "": list first */
	struct watch_retry retry;
	int64_t event_ms;          /* monotonic: the last event of the watch under way, at first its begin */
	bool had_event;
	bool initial;              /* the watch under way still tells of what was there before it */
	bool cannot_stream;        /* the server has said so */
	pthread_mutex_t lock;
	char why[ERR_MESSAGE_SIZE]; /* of the last failure; under the lock */
};

static void count_watch_restart(const char *reason)
{
	metrics_count(METRIC_WATCH_RESTARTS, reason);
}

static struct kube_ref watch_ref(const struct kube_watch *w)
{
	const struct kube_watch_options *o = &w->options;
	return (struct kube_ref){o->api, o->plural, .namespace = w->namespace, .field_selector = o->field_selector, .label_selector = o->label_selector};
}

/* Returns -1 when asked to stop. */
static int pause_ms(const struct kube_watch *w, int64_t ms)
{
	struct pollfd p = {.fd = w->cancel_fd, .events = POLLIN};
	return poll(&p, 1, (int)ms) == 0 ? 0 : -1;
}

static void note_why(struct kube_watch *w, const char *why)
{
	pthread_mutex_lock(&w->lock);
	snprintf(w->why, sizeof w->why, "%s", why);
	pthread_mutex_unlock(&w->lock);
}

void kube_watch_why(struct kube_watch *w, char *out, size_t size)
{
	pthread_mutex_lock(&w->lock);
	snprintf(out, size, "%s", w->why);
	pthread_mutex_unlock(&w->lock);
}

/* The API server knows no such resource: it says "the server could not find the requested resource", which helps nobody. */
static void explain_not_found(const struct kube_watch *w, struct err *e)
{
	struct err why = *e;
	if (why.kind == ERR_NOT_FOUND)
		err_set(e, ERR_NOT_FOUND, why.code, "the API server does not know %s: apply the CustomResourceDefinition (%s)", w->options.plural,
			why.message);
}

/* Waits as long as the failure asks for. */
static int back_off_watch(struct kube_watch *w, const struct err *e)
{
	uint32_t random = 0;
	if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
		random = (uint32_t)clock_mono_ns();
	int64_t ms = watch_retry_failed(&w->retry, e, random);
	if (ms)
		LOG_WARN("watch", "will try again", LOG_S("error", e->message), LOG_S("kind", err_kind_name(e->kind)), LOG_I("pause_ms", ms));
	return pause_ms(w, ms);
}

static int on_listed(void *ctx, const json_t *item, struct err *e)
{
	(void)e;
	struct kube_watch *w = ctx;
	w->options.callbacks.on_object(w->options.callbacks.ctx, false, item);
	return 0;
}

static void end_list(struct kube_watch *w)
{
	w->options.callbacks.on_list_end(w->options.callbacks.ctx, w->namespace);
	atomic_store(&w->synced, true);
	malloc_trim(0); /* much JSON was here */
}

/* 1: there are so many that a watch which begins with them is better. */
static int list_objects(struct kube_watch *w, struct err *e)
{
	const struct kube_watch_options *o = &w->options;
	struct kube_ref ref = watch_ref(w);
	char rv[64] = "";
	int64_t most = w->cannot_stream ? INT64_MAX : o->stream_above ? o->stream_above : STREAM_ABOVE;
	o->callbacks.on_list_begin(o->callbacks.ctx, w->namespace);
	int rc = kube_list_few(w->client, &ref, o->page_limit ? o->page_limit : PAGE_LIMIT, most, on_listed, w, rv, e);
	if (rc != 0)
		return rc;
	end_list(w);
	memcpy(w->resource_version, rv, sizeof rv);
	return 0;
}

static bool ends_initial_events(const json_t *bookmark)
{
	return json_object_get(jsonx_at(bookmark, "metadata.annotations"), INITIAL_EVENTS_END) != NULL;
}

static int on_kube_watch_event(void *ctx, enum watch_type type, const json_t *object, struct err *e)
{
	(void)e;
	struct kube_watch *w = ctx;
	w->event_ms = clock_mono_ms();
	w->had_event = true;
	if (type != WATCH_BOOKMARK) {
		w->options.callbacks.on_object(w->options.callbacks.ctx, type == WATCH_DELETED, object);
	} else if (w->initial && ends_initial_events(object)) {
		w->initial = false;
		end_list(w);
	}
	return 0;
}

struct reading {
	struct kube_watch *watch;
	struct watch_stream stream;
};

static int64_t stall_ms(const struct kube_watch *w)
{
	return w->options.stall_timeout_ms ? w->options.stall_timeout_ms : STALL_TIMEOUT_MS;
}

static int on_kube_watch_bytes(void *ctx, const char *data, size_t len, struct err *e)
{
	struct reading *r = ctx;
	if (watch_stream_feed(&r->stream, data, len, e) < 0)
		return -1;
	int64_t silent_ms = clock_mono_ms() - r->watch->event_ms;
	return silent_ms < stall_ms(r->watch) ? 0 : err_set(e, ERR_TIMEOUT, 0, "bytes, but no event for %lld ms", (long long)silent_ms);
}

/* The watch has ended before it had told of all objects: the next turn lists by pages. */
static int without_stream(struct kube_watch *w, int rc, struct err *e)
{
	w->cannot_stream = true;
	if (rc == 0)
		return err_set(e, ERR_RETRY, 0, "WATCH %s: ended before all objects were there", w->options.plural);
	if (e->kind != ERR_INVALID)
		return -1;
	*e = (struct err)ERR_INIT;
	return 0;
}

/* From where we were; without a resourceVersion from the beginning: then the objects come first. */
static int watch_objects(struct kube_watch *w, struct err *e)
{
	struct reading reading = {.watch = w};
	watch_stream_init(&reading.stream, w->resource_version, on_kube_watch_event, w);
	w->event_ms = clock_mono_ms();
	w->had_event = false;
	w->initial = !w->resource_version[0];
	char rv[64];
	memcpy(rv, w->resource_version, sizeof rv);
	struct kube_watch_request q = {
		.rv = rv,
		.initial_events = w->initial,
		.timeout_seconds = WATCH_SECONDS,
		.stall_timeout_ms = stall_ms(w),
		.on_body = on_kube_watch_bytes,
		.ctx = &reading,
	};
	struct kube_ref ref = watch_ref(w);
	int rc = kube_watch_once(w->client, &ref, &q, e);
	if (!w->initial) /* half of the objects are no place to go on from */
		memcpy(w->resource_version, reading.stream.resource_version, sizeof w->resource_version);
	watch_stream_fini(&reading.stream);
	return w->initial ? without_stream(w, rc, e) : rc;
}

/* What follows a failure; -1: stop. */
static int recover(struct kube_watch *w, const struct err *e)
{
	switch (e->kind) {
	case ERR_CANCELED:
		return -1;
	case ERR_GONE: /* history is compacted: what we missed can only be learnt by a new list */
		count_watch_restart("gone");
		w->resource_version[0] = '\0';
		break;
	case ERR_PROTOCOL: /* the line that was not understood would come again from where we were */
		count_watch_restart("malformed");
		w->resource_version[0] = '\0';
		break;
	case ERR_TIMEOUT: /* half-open or idle: resume from where we were */
		count_watch_restart("stalled");
		break;
	default:
		count_watch_restart("error");
	}
	return back_off_watch(w, e);
}

/* One list or watch; -1: stop. */
static int list_or_watch(struct kube_watch *w)
{
	struct err e = ERR_INIT;
	int64_t begun_ms = clock_mono_ms();
	bool listing = !w->resource_version[0];
	int rc = listing ? list_objects(w, &e) : watch_objects(w, &e);
	if (rc == 1)
		rc = watch_objects(w, &e);
	bool too_short = clock_mono_ms() - begun_ms < SHORT_WATCH_MS;
	if (!listing && !too_short && (rc == 0 || w->had_event))
		watch_retry_went_on(&w->retry);
	if (rc < 0) {
		explain_not_found(w, &e);
		note_why(w, e.message);
		return recover(w, &e);
	}
	if (!listing)
		return pause_ms(w, watch_retry_ended(&w->retry, too_short));
	watch_retry_listed(&w->retry);
	return 0;
}

static void *run_kube_watch(void *arg)
{
	while (list_or_watch(arg) == 0)
		;
	return NULL;
}

struct kube_watch *kube_watch_start(const struct kube_watch_options *o, struct err *e)
{
	struct kube_watch *w = mem_alloc(sizeof *w);
	w->options = *o;
	w->namespace = mem_strdup(o->namespace);
	pthread_mutex_init(&w->lock, NULL);
	w->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->cancel_fd < 0)
		err_set_errno(e, errno, "eventfd");
	else
		w->client = kube_client_new(o->config, w->cancel_fd, e);
	if (w->client && thread_start(&w->thread, "watch", THREAD_STACK_USUAL, run_kube_watch, w, e) == 0)
		return w;
	kube_client_free(w->client);
	if (w->cancel_fd >= 0)
		close(w->cancel_fd);
	pthread_mutex_destroy(&w->lock);
	free(w->namespace);
	free(w);
	return NULL;
}

bool kube_watch_synced(const struct kube_watch *w)
{
	return atomic_load(&w->synced);
}

void kube_watch_stop(struct kube_watch *w)
{
	if (!w)
		return;
	eventfd_write(w->cancel_fd, 1);
	pthread_join(w->thread, NULL);
	kube_client_free(w->client);
	close(w->cancel_fd);
	pthread_mutex_destroy(&w->lock);
	free(w->namespace);
	free(w);
}
