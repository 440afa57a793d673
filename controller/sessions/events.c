#include "controller/sessions/events.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/base/thread.h"
#include "controller/kube/kube_clock.h"
#include "controller/base/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define MESSAGE_MAX_BYTES 1024 /* the API's own bound */
#define FLUSH_MS 2000
#define CALL_MS 5000
#define SEEN_SLOTS 256

struct item {
	char namespace[64];
	char name[EVENT_NAME_SIZE];
	json_t *event;
};

/* The right to read Events is not needed for counting repeats. */
struct seen {
	uint64_t hash;
	int64_t count;
};

struct events {
	const char *instance;
	struct kube_client *client;
	int cancel_fd;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct item box[EVENTS_MAILBOX_MAX]; /* a ring */
	size_t head, count;
	bool stopping;
	struct seen seen[SEEN_SLOTS];
};

static json_t *build(const struct event_subject *s, bool warning, const char *reason, const char *message, const char *instance,
		     int64_t now_wall_ms, char name[EVENT_NAME_SIZE])
{
	AUTO_BUF struct buf text;
	buf_init(&text, 4 * MESSAGE_MAX_BYTES);
	text_append_printable(&text, message, text_cut_utf8(message, MESSAGE_MAX_BYTES));
	AUTO_JSON json_t *what = json_pack("[s, s, s%]", s->uid, reason, buf_str(&text), text_cut_utf8(buf_str(&text), MESSAGE_MAX_BYTES));
	uint64_t hash = session_json_hash(what);
	size_t kept = strnlen(s->name, 235); /* a cut name must still end as names may */
	while (kept && strchr(".-", s->name[kept - 1]))
		kept--;
	snprintf(name, EVENT_NAME_SIZE, "%.*s.%016" PRIx64, (int)kept, s->name, hash);
	char now[CLOCK_RFC3339_SIZE];
	clock_rfc3339(now_wall_ms, now);
	return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s, s:s}, s:s, s:s, s:O, s:i, s:s, s:s, s:{s:s}, s:s, s:s}", "apiVersion", "v1", "kind",
			 "Event", "metadata", "name", name, "namespace", s->namespace, "involvedObject", "apiVersion", API_GROUP_VERSION, "kind",
			 s->kind, "namespace", s->namespace, "name", s->name, "uid", s->uid, "type", warning ? "Warning" : "Normal", "reason",
			 reason, "message", json_array_get(what, 2), "count", 1, "firstTimestamp", now, "lastTimestamp", now, "source", "component",
			 "drdotnet-controller", "reportingComponent", "drdotnet.dev/controller", "reportingInstance", instance);
}

static struct event_subject subject_of(const struct profiling_session *s)
{
	return (struct event_subject){SESSION_KIND, s->namespace, s->name, s->uid};
}

json_t *events_build(const struct profiling_session *s, bool warning, const char *reason, const char *message, const char *instance,
		     int64_t now_wall_ms, char name[EVENT_NAME_SIZE])
{
	struct event_subject subject = subject_of(s);
	return build(&subject, warning, reason, message, instance, now_wall_ms, name);
}

/* How often an Event was written by this process; a slot is taken over by the next one that falls on it. */
static int64_t next_count(struct events *ev, const char *name)
{
	uint64_t hash = 1469598103934665603u;
	for (const char *p = name; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 1099511628211u;
	struct seen *slot = &ev->seen[hash % SEEN_SLOTS];
	slot->count = slot->hash == hash ? slot->count + 1 : 2;
	slot->hash = hash;
	return slot->count;
}

static int bump(struct events *ev, const struct item *it, struct err *e)
{
	struct kube_ref ref = {.api = KUBE_CORE, .plural = "events", .namespace = it->namespace, .name = it->name};
	AUTO_JSON json_t *patch = json_pack("{s:I, s:s}", "count", (json_int_t)next_count(ev, it->name), "lastTimestamp",
					    jsonx_str_at(it->event, "lastTimestamp", ""));
	return kube_patch(ev->client, &ref, KUBE_PATCH_MERGE, patch, NULL, e);
}

static void write_one(struct events *ev, const struct item *it)
{
	struct err e = ERR_INIT;
	struct kube_ref ref = {.api = KUBE_CORE, .plural = "events", .namespace = it->namespace};
	int rc = kube_create(ev->client, &ref, it->event, NULL, &e);
	if (rc < 0 && e.kind == ERR_CONFLICT) {
		e = (struct err)ERR_INIT;
		rc = bump(ev, it, &e);
	}
	if (rc == 0)
		return;
	metrics_count(METRIC_EVENTS_DROPPED, "write_failed");
	LOG_WARN("events", "not written", LOG_S("event", it->name), LOG_S("error", e.message));
}

static void *run_events(void *arg)
{
	struct events *ev = arg;
	pthread_mutex_lock(&ev->lock);
	while (ev->count || !ev->stopping) {
		if (!ev->count) {
			pthread_cond_wait(&ev->changed, &ev->lock);
			continue;
		}
		struct item it = ev->box[ev->head];
		ev->head = (ev->head + 1) % EVENTS_MAILBOX_MAX;
		ev->count--;
		pthread_mutex_unlock(&ev->lock);
		write_one(ev, &it);
		json_decref(it.event);
		pthread_mutex_lock(&ev->lock);
		pthread_cond_broadcast(&ev->changed);
	}
	pthread_mutex_unlock(&ev->lock);
	return NULL;
}

struct events *events_start(const struct kube_config *config, const char *instance, struct err *e)
{
	struct events *ev = mem_alloc(sizeof *ev);
	ev->instance = instance;
	metrics_add(METRIC_EVENTS_DROPPED, "write_failed", 0); /* an alert counts their increase, from the first on */
	metrics_add(METRIC_EVENTS_DROPPED, "mailbox_full", 0);
	ev->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&ev->lock, NULL);
	thread_cond_init(&ev->changed);
	int rc = -1;
	if (ev->cancel_fd < 0)
		err_set_errno(e, errno, "eventfd");
	else if ((ev->client = kube_client_new(config, ev->cancel_fd, e)))
		rc = thread_start(&ev->thread, "events", THREAD_STACK_USUAL, run_events, ev, e);
	if (rc == 0) {
		kube_client_set_timeout(ev->client, CALL_MS);
		return ev;
	}
	kube_client_free(ev->client);
	if (ev->cancel_fd >= 0)
		close(ev->cancel_fd);
	free(ev);
	return NULL;
}

void events_record(struct events *ev, const struct profiling_session *s, bool warning, const char *reason, const char *message)
{
	struct event_subject subject = subject_of(s);
	events_record_about(ev, &subject, warning, reason, message);
}

void events_record_about(struct events *ev, const struct event_subject *s, bool warning, const char *reason, const char *message)
{
	struct item it;
	snprintf(it.namespace, sizeof it.namespace, "%s", s->namespace);
	it.event = build(s, warning, reason, message, ev->instance, kube_clock_wall_ms(), it.name);
	pthread_mutex_lock(&ev->lock);
	bool full = ev->count == EVENTS_MAILBOX_MAX || !it.event;
	if (!full) {
		ev->box[(ev->head + ev->count) % EVENTS_MAILBOX_MAX] = it;
		ev->count++;
		pthread_cond_broadcast(&ev->changed);
	}
	pthread_mutex_unlock(&ev->lock);
	if (full) {
		json_decref(it.event);
		metrics_count(METRIC_EVENTS_DROPPED, "mailbox_full");
	}
}

void events_stop(struct events *ev)
{
	if (!ev)
		return;
	int64_t until = clock_mono_ms() + FLUSH_MS;
	pthread_mutex_lock(&ev->lock);
	ev->stopping = true;
	pthread_cond_broadcast(&ev->changed);
	while (ev->count && thread_cond_wait_until(&ev->changed, &ev->lock, until) == 0)
		;
	for (; ev->count; ev->count--, ev->head = (ev->head + 1) % EVENTS_MAILBOX_MAX)
		json_decref(ev->box[ev->head].event);
	pthread_mutex_unlock(&ev->lock);
	if (clock_mono_ms() >= until)
		eventfd_write(ev->cancel_fd, 1);
	pthread_join(ev->thread, NULL);
	kube_client_free(ev->client);
	close(ev->cancel_fd);
	pthread_cond_destroy(&ev->changed);
	pthread_mutex_destroy(&ev->lock);
	free(ev);
}
