#include "common/link/link_process.h"

#include "common/base/mem.h"
#include "common/link/link_msg_private.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_ENTRYPOINT 200
#define TEXT_MESSAGE 320

void link_process_fini(struct link_process *p)
{
	free(p->entrypoint);
	free(p->runtime_version);
	free(p->reason);
	free(p->message);
	*p = (struct link_process){.pid = 0};
}

void link_processes_free(struct link_process *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		link_process_fini(&items[i]);
	free(items);
}

/* Reading ---------------------------------------------------------------------------------------------------------- */

static int read_object_list(const json_t *doc, const char *path, const char *key, size_t most, const json_t **out, struct err *e)
{
	if (jsonx_array(doc, path, key, true, out, e) < 0)
		return -1;
	if (json_array_size(*out) > most)
		return err_set(e, ERR_PROTOCOL, 0, "%s.%s: more than %zu", path, key, most);
	for (size_t i = 0; i < json_array_size(*out); i++) {
		if (!json_is_object(json_array_get(*out, i)))
			return err_set(e, ERR_PROTOCOL, 0, "%s.%s[]: expected an object", path, key);
	}
	return 0;
}

int link_process_query_read(const json_t *doc, struct link_process_query *out, struct err *e)
{
	const json_t *pods = NULL;
	if (jsonx_int(doc, "processQuery", "requestID", true, 1, INT64_MAX, &out->request_id, e) < 0 ||
	    jsonx_int(doc, "processQuery", "windowMilliseconds", true, 0, LINK_MAX_WINDOW_MS, &out->window_ms, e) < 0 ||
	    read_object_list(doc, "processQuery", "pods", LINK_MAX_QUERIED_PODS, &pods, e) < 0)
		return -1;
	out->count = json_array_size(pods);
	out->pods = mem_calloc(out->count ? out->count : 1, sizeof *out->pods);
	for (size_t i = 0; i < out->count; i++) {
		const json_t *item = json_array_get(pods, i);
		struct link_queried_pod *p = &out->pods[i];
		if (link_msg_read_name(item, "processQuery.pods[]", "uid", true, p->uid, sizeof p->uid, e) < 0 ||
		    link_msg_read_name(item, "processQuery.pods[]", "namespace", true, p->namespace, sizeof p->namespace, e) < 0 ||
		    link_msg_read_name(item, "processQuery.pods[]", "name", true, p->name, sizeof p->name, e) < 0)
			return -1;
	}
	return 0;
}

static int read_process_item(const json_t *item, struct link_process *p, struct err *e)
{
	static const char at[] = "processes.items[]";
	p->user = p->cpu_millicores = p->memory_bytes = -1;
	if (link_msg_read_name(item, at, "podUID", true, p->pod_uid, sizeof p->pod_uid, e) < 0 ||
	    link_msg_read_name(item, at, "containerID", false, p->container_id, sizeof p->container_id, e) < 0 ||
	    link_msg_read_name(item, at, "container", false, p->container, sizeof p->container, e) < 0 ||
	    jsonx_int(item, at, "pid", true, 1, INT32_MAX, &p->pid, e) < 0 ||
	    jsonx_int(item, at, "user", false, 0, UINT32_MAX, &p->user, e) < 0 ||
	    jsonx_int(item, at, "cpuMillicores", false, 0, INT64_MAX, &p->cpu_millicores, e) < 0 ||
	    jsonx_int(item, at, "memoryBytes", false, 0, INT64_MAX, &p->memory_bytes, e) < 0 ||
	    jsonx_bool(item, at, "canProfile", true, &p->can_profile, e) < 0 ||
	    link_msg_read_text(item, at, "entrypoint", false, TEXT_ENTRYPOINT, &p->entrypoint, e) < 0 ||
	    link_msg_read_text(item, at, "runtimeVersion", false, LINK_TEXT_NAME, &p->runtime_version, e) < 0 ||
	    link_msg_read_text(item, at, "reason", false, LINK_TEXT_REASON, &p->reason, e) < 0)
		return -1;
	return link_msg_read_text(item, at, "message", false, TEXT_MESSAGE, &p->message, e);
}

int link_processes_read(const json_t *doc, struct link_processes *out, struct err *e)
{
	const json_t *items = NULL;
	if (jsonx_int(doc, "processes", "requestID", true, 1, INT64_MAX, &out->request_id, e) < 0 ||
	    jsonx_bool(doc, "processes", "more", false, &out->more, e) < 0 ||
	    read_object_list(doc, "processes", "items", LINK_MAX_PROCESSES, &items, e) < 0)
		return -1;
	out->items = mem_calloc(json_array_size(items) + 1, sizeof *out->items);
	for (size_t i = 0; i < json_array_size(items); i++) {
		out->count = i + 1;
		if (read_process_item(json_array_get(items, i), &out->items[i], e) < 0)
			return -1;
	}
	return 0;
}

/* Writing ---------------------------------------------------------------------------------------------------------- */

void link_process_query_write(json_t *doc, const struct link_process_query *q)
{
	json_object_set_new(doc, "requestID", json_integer(q->request_id));
	json_object_set_new(doc, "windowMilliseconds", json_integer(q->window_ms));
	json_t *pods = json_array();
	for (size_t i = 0; i < q->count; i++) {
		json_t *item = json_object();
		json_object_set_new(item, "uid", json_string(q->pods[i].uid));
		json_object_set_new(item, "namespace", json_string(q->pods[i].namespace));
		json_object_set_new(item, "name", json_string(q->pods[i].name));
		json_array_append_new(pods, item);
	}
	json_object_set_new(doc, "pods", pods);
}

static void put_if_known(json_t *obj, const char *key, int64_t value)
{
	if (value >= 0)
		json_object_set_new(obj, key, json_integer(value));
}

static json_t *write_process(const struct link_process *p)
{
	json_t *item = json_object();
	json_object_set_new(item, "podUID", json_string(p->pod_uid));
	if (p->container_id[0])
		json_object_set_new(item, "containerID", json_string(p->container_id));
	if (p->container[0])
		json_object_set_new(item, "container", json_string(p->container));
	json_object_set_new(item, "pid", json_integer(p->pid));
	put_if_known(item, "user", p->user);
	put_if_known(item, "cpuMillicores", p->cpu_millicores);
	put_if_known(item, "memoryBytes", p->memory_bytes);
	json_object_set_new(item, "canProfile", json_boolean(p->can_profile));
	link_msg_put_text(item, "entrypoint", p->entrypoint, TEXT_ENTRYPOINT);
	link_msg_put_text(item, "runtimeVersion", p->runtime_version, LINK_TEXT_NAME);
	link_msg_put_text(item, "reason", p->reason, LINK_TEXT_REASON);
	link_msg_put_text(item, "message", p->message, TEXT_MESSAGE);
	return item;
}

void link_processes_write(json_t *doc, const struct link_processes *p)
{
	json_object_set_new(doc, "requestID", json_integer(p->request_id));
	if (p->more)
		json_object_set_new(doc, "more", json_true());
	json_t *items = json_array();
	for (size_t i = 0; i < p->count; i++)
		json_array_append_new(items, write_process(&p->items[i]));
	json_object_set_new(doc, "items", items);
}
