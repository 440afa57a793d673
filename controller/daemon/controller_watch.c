/* What the API server tells of sessions: into the cache, the index for lists, the triggers' counts, and to the workers. */
#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "controller/daemon/controller_private.h"
#include "controller/base/metrics.h"

#include <poll.h>
#include <string.h>

static void on_sessions_list_begin(void *ctx, const char *namespace)
{
	struct controller *c = ctx;
	session_cache_list_begin(c->cache, namespace);
	if (c->options.index)
		session_index_list_begin(c->options.index, namespace);
	triggers_sessions_list_begin(c->triggers, namespace);
}

static void on_sessions_list_end(void *ctx, const char *namespace)
{
	struct controller *c = ctx;
	session_cache_list_end(c->cache, namespace);
	if (c->options.index)
		session_index_list_end(c->options.index, namespace, c->options.on_session, c->options.on_session_ctx);
	triggers_sessions_list_end(c->triggers, namespace);
}

/* What is listed and shown; objects that the reconciler does not understand, too. */
static void update_index(struct controller *c, bool deleted, const json_t *object)
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
	return !completed && (session_object_unassigned(s) || session_object_deleting(s) || (s->spec_valid && s->spec.cancel));
}

static void on_session_object(void *ctx, bool deleted, const json_t *object)
{
	struct controller *c = ctx;
	struct profiling_session s;
	struct err e = ERR_INIT;
	update_index(c, deleted, object);
	if (session_object_from_json(object, &s, &e) < 0) {
		metrics_count(METRIC_WATCH_OBJECTS_DROPPED, "malformed");
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
		starts_forget(c->starts, c->hub, key);
		session_object_fini(&s);
	} else if (session_cache_put_take(c->cache, &s) && atomic_load(&c->epoch)) {
		(urgent ? controller_enqueue_urgent : controller_enqueue)(c, key);
	}
}

static int start_watch(struct controller *c, const char *namespace, struct err *e)
{
	if (c->watch_count == CONTROLLER_MAX_NAMESPACES)
		return err_set(e, ERR_INVALID, 0, "--watch-namespaces: more than %d; watch all, or fewer", CONTROLLER_MAX_NAMESPACES);
	struct kube_watch_options o = {
		.config = c->options.kube,
		.api = KUBE_SESSIONS,
		.plural = SESSION_PLURAL,
		.namespace = namespace,
		.stall_timeout_ms = c->options.watch_stall_ms,
		.page_limit = c->options.watch_page_limit,
		.stream_above = c->options.watch_stream_above,
		.callbacks = {c, on_sessions_list_begin, on_sessions_list_end, on_session_object},
	};
	struct kube_watch *w = kube_watch_start(&o, e);
	if (!w)
		return -1;
	pthread_mutex_lock(&c->watches_lock);
	c->watches[c->watch_count++] = w;
	pthread_mutex_unlock(&c->watches_lock);
	return triggers_watch(c->triggers, namespace, e);
}

int controller_watch_start(struct controller *c, struct err *e)
{
	if (!c->options.namespaces || !c->options.namespaces[0])
		return start_watch(c, NULL, e);
	AUTO_FREE char *list = mem_strdup(c->options.namespaces);
	char *rest = NULL;
	for (char *ns = strtok_r(list, ", ", &rest); ns; ns = strtok_r(NULL, ", ", &rest)) {
		if (start_watch(c, ns, e) < 0)
			return -1;
	}
	return c->watch_count ? 0 : err_set(e, ERR_INVALID, 0, "--watch-namespaces: names no namespace");
}

int controller_watch_wait(struct controller *c, int stop_fd, struct err *e)
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
