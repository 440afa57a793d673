#include "common/link/link_observation.h"

#include "common/base/jsonx.h"
#include "common/base/mem.h"
#include "common/link/link_msg_private.h"

#include <stdlib.h>
#include <string.h>

static const char *const resources[] = {[LINK_RESOURCE_CPU] = "cpu", [LINK_RESOURCE_MEMORY] = "memory"};
static const char *const states[] = {
	[LINK_OBSERVED_NORMAL] = "Normal",
	[LINK_OBSERVED_ABOVE] = "Above",
	[LINK_OBSERVED_NO_LIMIT] = "NoLimit",
	[LINK_OBSERVED_NOT_FOUND] = "NotFound",
};
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static int index_of_enum_name(const char *const *names, int count, const char *name)
{
	for (int i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return -1;
}

const char *link_resource_name(enum link_resource r)
{
	return (int)r >= 0 && (int)r < COUNT(resources) ? resources[r] : "unknown";
}

int link_resource_parse(const char *name, enum link_resource *out)
{
	int i = index_of_enum_name(resources, COUNT(resources), name);
	if (i >= 0)
		*out = (enum link_resource)i;
	return i < 0 ? -1 : 0;
}

const char *link_observed_state_name(enum link_observed_state s)
{
	return (int)s >= 0 && (int)s < COUNT(states) ? states[s] : "Unknown";
}

int link_observed_state_parse(const char *name, enum link_observed_state *out)
{
	int i = index_of_enum_name(states, COUNT(states), name);
	if (i >= 0)
		*out = (enum link_observed_state)i;
	return i < 0 ? -1 : 0;
}

bool link_observation_is_valid(const struct link_observation *o)
{
	return link_msg_is_name(o->id) && link_msg_is_name(o->pod_uid) && link_msg_is_name(o->container) && link_msg_is_name(o->container_id) &&
	       o->whole >= 0 && o->above_percent >= 1 && o->above_percent <= LINK_OBSERVE_MAX_PERCENT && o->for_seconds >= 1 &&
	       o->for_seconds <= LINK_OBSERVE_MAX_FOR_SECONDS;
}

/* Out ------------------------------------------------------------------------------------------------------------- */

static void put_whole(json_t *obj, int64_t whole)
{
	if (whole)
		json_object_set_new(obj, "whole", json_integer(whole));
}

json_t *link_observations_to_json(const struct link_observation *items, size_t count)
{
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++) {
		const struct link_observation *o = &items[i];
		json_t *obj = json_object();
		json_object_set_new(obj, "id", json_string(o->id));
		json_object_set_new(obj, "podUID", json_string(o->pod_uid));
		json_object_set_new(obj, "container", json_string(o->container));
		json_object_set_new(obj, "containerID", json_string(o->container_id));
		json_object_set_new(obj, "resource", json_string(link_resource_name(o->resource)));
		put_whole(obj, o->whole);
		json_object_set_new(obj, "abovePercent", json_integer(o->above_percent));
		json_object_set_new(obj, "forSeconds", json_integer(o->for_seconds));
		json_array_append_new(list, obj);
	}
	return list;
}

json_t *link_observed_to_json(const struct link_observed *items, size_t count)
{
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++) {
		const struct link_observed *o = &items[i];
		json_t *obj = json_object();
		json_object_set_new(obj, "id", json_string(o->id));
		json_object_set_new(obj, "podUID", json_string(o->pod_uid));
		json_object_set_new(obj, "container", json_string(o->container));
		json_object_set_new(obj, "state", json_string(link_observed_state_name(o->state)));
		json_object_set_new(obj, "value", json_integer(o->value));
		put_whole(obj, o->whole);
		json_object_set_new(obj, "sinceTime", json_integer(o->since_wall_ms));
		json_array_append_new(list, obj);
	}
	return list;
}

/* In -------------------------------------------------------------------------------------------------------------- */

static int read_observation_name(const json_t *obj, const char *path, const char *key, char *out, size_t size, struct err *e)
{
	const char *s = NULL;
	if (jsonx_string(obj, path, key, true, &s, e) < 0)
		return -1;
	if (strlen(s) >= size || !link_msg_is_name(s))
		return err_set(e, ERR_PROTOCOL, 0, "%s.%s: expected up to %zu letters, digits, '.', '_' and '-'", path, key, size - 1);
	strcpy(out, s);
	return 0;
}

static int read_observed_resource(const json_t *obj, const char *path, enum link_resource *out, struct err *e)
{
	const char *s = NULL;
	if (jsonx_string(obj, path, "resource", true, &s, e) < 0)
		return -1;
	return link_resource_parse(s, out) == 0 ? 0 : err_set(e, ERR_PROTOCOL, 0, "%s.resource: expected cpu or memory", path);
}

static int read_observation(const json_t *obj, struct link_observation *o, struct err *e)
{
	static const char path[] = "observe.items[]";
	if (read_observation_name(obj, path, "id", o->id, sizeof o->id, e) < 0 ||
	    read_observation_name(obj, path, "podUID", o->pod_uid, sizeof o->pod_uid, e) < 0 ||
	    read_observation_name(obj, path, "container", o->container, sizeof o->container, e) < 0 ||
	    read_observation_name(obj, path, "containerID", o->container_id, sizeof o->container_id, e) < 0 ||
	    read_observed_resource(obj, path, &o->resource, e) < 0 || jsonx_int(obj, path, "whole", false, 0, INT64_MAX, &o->whole, e) < 0 ||
	    jsonx_int(obj, path, "abovePercent", true, 1, LINK_OBSERVE_MAX_PERCENT, &o->above_percent, e) < 0)
		return -1;
	return jsonx_int(obj, path, "forSeconds", true, 1, LINK_OBSERVE_MAX_FOR_SECONDS, &o->for_seconds, e);
}

static int read_state(const json_t *obj, const char *path, enum link_observed_state *out, struct err *e)
{
	const char *s = NULL;
	if (jsonx_string(obj, path, "state", true, &s, e) < 0)
		return -1;
	return link_observed_state_parse(s, out) == 0 ? 0 : err_set(e, ERR_PROTOCOL, 0, "%s.state: unknown", path);
}

static int read_observed(const json_t *obj, struct link_observed *o, struct err *e)
{
	static const char path[] = "observed.items[]";
	if (read_observation_name(obj, path, "id", o->id, sizeof o->id, e) < 0 ||
	    read_observation_name(obj, path, "podUID", o->pod_uid, sizeof o->pod_uid, e) < 0 ||
	    read_observation_name(obj, path, "container", o->container, sizeof o->container, e) < 0 || read_state(obj, path, &o->state, e) < 0 ||
	    jsonx_int(obj, path, "value", false, 0, INT64_MAX, &o->value, e) < 0 ||
	    jsonx_int(obj, path, "whole", false, 0, INT64_MAX, &o->whole, e) < 0)
		return -1;
	return jsonx_int(obj, path, "sinceTime", true, 0, INT64_MAX, &o->since_wall_ms, e);
}

/* The list of `what`, if it is one of objects and not too long. */
static int open_list(const json_t *doc, const char *what, const json_t **list, struct err *e)
{
	if (jsonx_array(doc, what, "items", true, list, e) < 0)
		return -1;
	if (json_array_size(*list) > LINK_MAX_OBSERVATIONS)
		return err_set(e, ERR_PROTOCOL, 0, "%s.items: more than %d", what, LINK_MAX_OBSERVATIONS);
	for (size_t i = 0; i < json_array_size(*list); i++) {
		if (!json_is_object(json_array_get(*list, i)))
			return err_set(e, ERR_PROTOCOL, 0, "%s.items[]: expected an object", what);
	}
	return 0;
}

int link_observations_from_json(const json_t *doc, struct link_observation **out, size_t *count, struct err *e)
{
	const json_t *list = NULL;
	if (open_list(doc, "observe", &list, e) < 0)
		return -1;
	size_t n = json_array_size(list);
	struct link_observation *items = mem_calloc(n ? n : 1, sizeof *items);
	for (size_t i = 0; i < n; i++) {
		if (read_observation(json_array_get(list, i), &items[i], e) < 0) {
			free(items);
			return -1;
		}
	}
	*out = items;
	*count = n;
	return 0;
}

int link_observed_from_json(const json_t *doc, struct link_observed **out, size_t *count, struct err *e)
{
	const json_t *list = NULL;
	if (open_list(doc, "observed", &list, e) < 0)
		return -1;
	size_t n = json_array_size(list);
	struct link_observed *items = mem_calloc(n ? n : 1, sizeof *items);
	for (size_t i = 0; i < n; i++) {
		if (read_observed(json_array_get(list, i), &items[i], e) < 0) {
			free(items);
			return -1;
		}
	}
	*out = items;
	*count = n;
	return 0;
}
