#include "controller/triggers/observe_set.h"

#include "common/api/quantity.h"
#include "controller/kube/pods.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void observe_set_fini(struct observe_set *s)
{
	struct observe_entry *e, *next_entry;
	struct observe_node *n, *next_node;
	HASH_ITER(hh, s->entries, e, next_entry) {
		HASH_DEL(s->entries, e);
		trigger_unref(e->trigger);
		free(e->pod_name);
		free(e);
	}
	HASH_ITER(hh, s->nodes, n, next_node) {
		HASH_DEL(s->nodes, n);
		free(n->name);
		free(n);
	}
	*s = (struct observe_set){0};
}

/* Making ----------------------------------------------------------------------------------------------------------- */

static struct observe_node *node_of(struct observe_set *s, const char *name)
{
	struct observe_node *n = NULL;
	HASH_FIND_STR(s->nodes, name, n);
	if (n)
		return n;
	n = mem_alloc(sizeof *n);
	n->name = mem_strdup(name);
	HASH_ADD_KEYPTR(hh, s->nodes, n->name, strlen(n->name), n);
	return n;
}

/* FNV-1a; the sum over a node's entries does not depend on their order. */
static uint64_t hash_observe_entry(const struct observe_entry *e)
{
	char text[512];
	int len = snprintf(text, sizeof text, "%s/%s/%d/%" PRId64 "/%" PRId64 "/%" PRId64, e->key, e->what.container_id, (int)e->what.resource,
			   e->what.whole, e->what.above_percent, e->what.for_seconds);
	uint64_t hash = UINT64_C(14695981039346656037);
	for (int i = 0; i < len && i < (int)sizeof text - 1; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
	return hash | 1;
}

static void observe_key(const char *id, const char *pod_uid, const char *container, char out[OBSERVE_KEY_SIZE])
{
	snprintf(out, OBSERVE_KEY_SIZE, "%s/%s/%s", id, pod_uid, container);
}

/* -1: not to be observed. */
static int64_t whole_of(const struct trigger_threshold *t, const json_t *container)
{
	int64_t milli;
	switch (t->resource) {
	case TRIGGER_CPU_OF_LIMIT:
		milli = quantity_parse_milli(jsonx_str_at(container, "resources.limits.cpu", ""));
		return milli > 0 ? milli : 0;
	case TRIGGER_CPU_OF_REQUEST:
		milli = quantity_parse_milli(jsonx_str_at(container, "resources.requests.cpu", ""));
		return milli > 0 ? milli : -1;
	case TRIGGER_MEMORY_OF_LIMIT:
		milli = quantity_parse_milli(jsonx_str_at(container, "resources.limits.memory", ""));
		return milli >= 1000 ? milli / 1000 : 0;
	}
	return -1;
}

static const char *running_id(const struct pod_info *pod, const char *container)
{
	for (size_t i = 0; i < pod->container_count; i++) {
		if (strcmp(pod->containers[i].name, container) == 0)
			return pod->containers[i].id;
	}
	return NULL;
}

static void add_observation(struct observe_set *s, struct profiling_trigger *trigger, const struct pod_info *pod, const struct link_observation *what)
{
	struct observe_node *n = node_of(s, pod->node);
	struct observe_entry *e = NULL;
	char key[OBSERVE_KEY_SIZE];
	observe_key(what->id, what->pod_uid, what->container, key);
	HASH_FIND_STR(s->entries, key, e);
	if (e)
		return;
	if (HASH_COUNT(s->entries) >= s->max_entries || n->count >= LINK_MAX_OBSERVATIONS) {
		s->left_out++;
		return;
	}
	e = mem_alloc(sizeof *e);
	memcpy(e->key, key, sizeof key);
	e->what = *what;
	e->trigger = trigger_ref(trigger);
	e->pod_name = mem_strdup(pod->name);
	e->node = n;
	e->next = n->entries;
	n->entries = e;
	n->count++;
	n->hash += hash_observe_entry(e);
	HASH_ADD_STR(s->entries, key, e);
}

static void add_container(struct observe_set *s, struct profiling_trigger *trigger, const struct pod_info *pod, const json_t *container)
{
	const struct trigger_threshold *t = &trigger->spec.threshold;
	const char *name = jsonx_str_at(container, "name", "");
	const char *id = running_id(pod, name);
	struct link_observation o = {
		.resource = t->resource == TRIGGER_MEMORY_OF_LIMIT ? LINK_RESOURCE_MEMORY : LINK_RESOURCE_CPU,
		.whole = whole_of(t, container),
		.above_percent = t->above_percent,
		.for_seconds = t->for_seconds,
	};
	if (!id || o.whole < 0 || strlen(name) >= sizeof o.container || (t->container && strcmp(t->container, name) != 0))
		return;
	snprintf(o.id, sizeof o.id, "%s", trigger->uid);
	snprintf(o.pod_uid, sizeof o.pod_uid, "%s", pod->uid);
	snprintf(o.container, sizeof o.container, "%s", name);
	snprintf(o.container_id, sizeof o.container_id, "%s", id);
	if (link_observation_is_valid(&o))
		add_observation(s, trigger, pod, &o);
}

void observe_set_add_pod(struct observe_set *s, struct profiling_trigger *trigger, const json_t *pod)
{
	struct pod_info info;
	pod_info_from_json(pod, &info);
	size_t i;
	json_t *container;
	if (info.running && !info.deleting && info.uid[0]) {
		json_array_foreach(jsonx_at(pod, "spec.containers"), i, container)
			add_container(s, trigger, &info, container);
	}
	pod_info_fini(&info);
}

void observe_set_carry(struct observe_set *s, const struct observe_set *old)
{
	for (struct observe_node *was = old->nodes; was; was = was->hh.next) {
		if (!was->told || (!was->told_hash && !was->hash))
			continue; /* it knows of nothing: no need to remember it */
		struct observe_node *n = node_of(s, was->name);
		n->told = was->told;
		n->told_hash = was->told_hash;
		n->told_mono_ms = was->told_mono_ms;
	}
	for (struct observe_entry *e = s->entries; e; e = e->hh.next) {
		struct observe_entry *was = NULL;
		HASH_FIND_STR(old->entries, e->key, was);
		e->no_limit_said = was && was->no_limit_said;
		e->unseen = was ? was->unseen : 0;
	}
}

/* Asking ----------------------------------------------------------------------------------------------------------- */

bool observe_set_is_due(const struct observe_node *n, int64_t now_mono_ms, int64_t confirm_ms)
{
	if (!n->told)
		return n->hash != 0;
	return n->told_hash != n->hash || (n->hash && now_mono_ms - n->told_mono_ms >= confirm_ms);
}

struct link_observation *observe_set_items(const struct observe_node *n)
{
	struct link_observation *items = mem_calloc(n->count ? n->count : 1, sizeof *items);
	size_t i = 0;
	for (const struct observe_entry *e = n->entries; e; e = e->next)
		items[i++] = e->what;
	return items;
}

struct observe_entry *observe_set_find(struct observe_set *s, const char *node, const struct link_observed *o)
{
	char key[OBSERVE_KEY_SIZE];
	struct observe_entry *e = NULL;
	observe_key(o->id, o->pod_uid, o->container, key);
	HASH_FIND_STR(s->entries, key, e);
	return e && strcmp(e->node->name, node) == 0 ? e : NULL;
}

void observe_set_message(const struct observe_entry *e, const struct link_observed *o, char out[OBSERVE_MESSAGE_SIZE])
{
	static const char *const of[] = {
		[TRIGGER_CPU_OF_LIMIT] = "its CPU limit", [TRIGGER_CPU_OF_REQUEST] = "its CPU request", [TRIGGER_MEMORY_OF_LIMIT] = "its memory limit"};
	double percent = o->whole > 0 ? (double)o->value * 100 / (double)o->whole : 0;
	snprintf(out, OBSERVE_MESSAGE_SIZE, "container %s of pod %.100s uses %.0f%% of %s: above %" PRId64 "%% for %" PRId64 " s", e->what.container,
		 e->pod_name, percent, of[e->trigger->spec.threshold.resource], e->what.above_percent, e->what.for_seconds);
}
