#include "controller/triggers/trigger_sessions.h"

#include "common/base/hash.h"
#include "common/base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct known {
	struct trigger_session_view view;
	bool listed; /* since the list under way has begun */
	struct known *next;
};

struct owner {
	char uid[40], key[TRIGGER_KEY_SIZE];
	struct known *sessions;
	UT_hash_handle hh;
};

struct trigger_sessions {
	pthread_mutex_t lock;
	struct owner *owners;
};

struct trigger_sessions *trigger_sessions_new(void)
{
	struct trigger_sessions *s = mem_alloc(sizeof *s);
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static void known_free(struct known *k)
{
	free(k->view.pod_name);
	free(k);
}

static void owner_free(struct trigger_sessions *s, struct owner *o)
{
	for (struct known *next, *k = o->sessions; k; k = next) {
		next = k->next;
		known_free(k);
	}
	HASH_DEL(s->owners, o);
	free(o);
}

void trigger_sessions_free(struct trigger_sessions *s)
{
	if (!s)
		return;
	for (struct owner *next, *o = s->owners; o; o = next) {
		next = o->hh.next;
		owner_free(s, o);
	}
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static const json_t *owning_trigger(const json_t *object)
{
	size_t i;
	json_t *ref;
	json_array_foreach(jsonx_at(object, "metadata.ownerReferences"), i, ref) {
		if (json_is_true(json_object_get(ref, "controller")) && strcmp(jsonx_str_at(ref, "kind", ""), TRIGGER_KIND) == 0)
			return ref;
	}
	return NULL;
}

static enum trigger_phase phase_of(const json_t *object)
{
	bool over = false, good = false;
	size_t i;
	json_t *c;
	json_array_foreach(jsonx_at(object, "status.conditions"), i, c) {
		const char *type = jsonx_str_at(c, "type", "");
		bool holds = strcmp(jsonx_str_at(c, "status", ""), "True") == 0;
		over |= holds && strcmp(type, "Completed") == 0;
		good |= strcmp(type, "Succeeded") == 0 && (holds || strcmp(jsonx_str_at(c, "reason", ""), "PartiallySucceeded") == 0);
	}
	return !over ? TRIGGER_ACTIVE : good ? TRIGGER_SUCCEEDED : TRIGGER_FAILED;
}

static struct owner *find_or_add_owner(struct trigger_sessions *s, const json_t *ref, const char *namespace)
{
	char uid[40];
	struct owner *o;
	jsonx_copy_at(ref, "uid", uid, sizeof uid);
	HASH_FIND_STR(s->owners, uid, o);
	if (o)
		return o;
	o = mem_alloc(sizeof *o);
	memcpy(o->uid, uid, sizeof uid);
	snprintf(o->key, sizeof o->key, "%.63s/%.253s", namespace, jsonx_str_at(ref, "name", ""));
	HASH_ADD_STR(s->owners, uid, o);
	return o;
}

static struct known **find_known_session(struct owner *o, const char *name)
{
	struct known **at = &o->sessions;
	while (*at && strcmp((*at)->view.name, name) != 0)
		at = &(*at)->next;
	return at;
}

static bool remove_known_session(struct trigger_sessions *s, struct owner *o, struct known **at)
{
	struct known *k = *at;
	if (k) {
		*at = k->next;
		known_free(k);
	}
	if (!o->sessions)
		owner_free(s, o);
	return k != NULL;
}

static bool keep_known_session(struct known **at, const json_t *object, const char *name)
{
	struct known *k = *at;
	bool fresh = !k;
	if (fresh) {
		k = *at = mem_alloc(sizeof *k);
		snprintf(k->view.name, sizeof k->view.name, "%s", name);
	}
	enum trigger_phase phase = phase_of(object);
	bool changed = fresh || phase != k->view.phase;
	k->listed = true;
	k->view.phase = phase;
	jsonx_copy_at(object, "metadata.uid", k->view.uid, sizeof k->view.uid);
	k->view.created_wall_ms = jsonx_time_at(object, "metadata.creationTimestamp");
	k->view.completed_wall_ms = jsonx_time_at(object, "status.completionTime");
	free(k->view.pod_name);
	k->view.pod_name = mem_strdup(jsonx_str_at(object, "spec.target.podName", NULL));
	return changed;
}

bool trigger_sessions_put(struct trigger_sessions *s, bool deleted, const json_t *object, struct trigger_sessions_change *out)
{
	const json_t *ref = owning_trigger(object);
	const char *name = jsonx_str_at(object, "metadata.name", "");
	if (!ref || !name[0])
		return false;
	pthread_mutex_lock(&s->lock);
	struct owner *o = find_or_add_owner(s, ref, jsonx_str_at(object, "metadata.namespace", ""));
	memcpy(out->trigger_key, o->key, sizeof out->trigger_key);
	snprintf(out->session, sizeof out->session, "%s", name);
	out->gone = deleted;
	bool changed = deleted ? remove_known_session(s, o, find_known_session(o, name)) : keep_known_session(find_known_session(o, name), object, name);
	pthread_mutex_unlock(&s->lock);
	return changed;
}

static bool owner_is_in(const struct owner *o, const char *namespace)
{
	size_t len = namespace ? strlen(namespace) : 0;
	return !namespace || (strncmp(o->key, namespace, len) == 0 && o->key[len] == '/');
}

void trigger_sessions_list_begin(struct trigger_sessions *s, const char *namespace)
{
	pthread_mutex_lock(&s->lock);
	for (struct owner *o = s->owners; o; o = o->hh.next) {
		for (struct known *k = owner_is_in(o, namespace) ? o->sessions : NULL; k; k = k->next)
			k->listed = false;
	}
	pthread_mutex_unlock(&s->lock);
}

/* Takes out the first session that was not listed; true: there was one, and *key is its trigger's. */
static bool remove_unlisted(struct trigger_sessions *s, const char *namespace, char key[TRIGGER_KEY_SIZE])
{
	for (struct owner *o = s->owners; o; o = o->hh.next) {
		for (struct known **at = owner_is_in(o, namespace) ? &o->sessions : &(struct known *){NULL}; *at; at = &(*at)->next) {
			if ((*at)->listed)
				continue;
			memcpy(key, o->key, TRIGGER_KEY_SIZE);
			remove_known_session(s, o, at);
			return true;
		}
	}
	return false;
}

void trigger_sessions_list_end(struct trigger_sessions *s, const char *namespace, void (*changed)(void *ctx, const char *trigger_key), void *ctx)
{
	char key[TRIGGER_KEY_SIZE];
	for (bool more = true; more;) {
		pthread_mutex_lock(&s->lock);
		more = remove_unlisted(s, namespace, key);
		pthread_mutex_unlock(&s->lock);
		if (more)
			changed(ctx, key);
	}
}

struct trigger_session_view *trigger_sessions_of(struct trigger_sessions *s, const char *trigger_uid, size_t *count)
{
	struct owner *o;
	*count = 0;
	pthread_mutex_lock(&s->lock);
	HASH_FIND_STR(s->owners, trigger_uid, o);
	for (struct known *k = o ? o->sessions : NULL; k; k = k->next)
		++*count;
	struct trigger_session_view *views = mem_calloc(*count ? *count : 1, sizeof *views);
	size_t i = 0;
	for (struct known *k = o ? o->sessions : NULL; k; k = k->next) {
		views[i] = k->view;
		views[i++].pod_name = mem_strdup(k->view.pod_name);
	}
	pthread_mutex_unlock(&s->lock);
	return views;
}

void trigger_sessions_views_free(struct trigger_session_view *views, size_t count)
{
	for (size_t i = 0; views && i < count; i++)
		free(views[i].pod_name);
	free(views);
}
