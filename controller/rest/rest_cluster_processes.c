/* Processes of the cluster's REST backend: the pods that the caller may list, and what the agents of their nodes say of them. */
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "controller/kube/pods.h"
#include "controller/rest/rest_cluster_private.h"
#include "controller/kube/workload.h"

#include <stdlib.h>
#include <string.h>

#define PODS_MOST 2000
#define ANSWER_MS 8000 /* agents look for 5 s at most */
#define PAGE_LIMIT 200

struct listed_pod {
	struct link_queried_pod pod;
	char node[254];
	struct workload workload;
	struct link_container *containers; /* owned */
	size_t container_count;
};

struct pods {
	struct listed_pod *items;
	size_t count, cap;
	bool more;
};

static void pods_fini(struct pods *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i].containers);
	free(l->items);
}

static int add_pod(void *ctx, const json_t *item, struct err *e)
{
	struct pods *l = ctx;
	struct pod_info pod;
	(void)e;
	pod_info_from_json(item, &pod);
	bool wanted = pod.running && pod.node[0] && pod.uid[0];
	if (wanted && l->count == PODS_MOST) {
		l->more = true;
	} else if (wanted) {
		GROW(l->items, l->count, l->cap);
		struct listed_pod *p = &l->items[l->count++];
		*p = (struct listed_pod){.containers = steal_ptr(&pod.containers), .container_count = pod.container_count};
		snprintf(p->pod.uid, sizeof p->pod.uid, "%s", pod.uid);
		jsonx_copy_at(item, "metadata.namespace", p->pod.namespace, sizeof p->pod.namespace);
		snprintf(p->pod.name, sizeof p->pod.name, "%s", pod.name);
		snprintf(p->node, sizeof p->node, "%s", pod.node);
		workload_of_pod(item, &p->workload);
	}
	pod_info_fini(&pod);
	return 0;
}

static int list_pods_of_namespace(struct kube_client *k, const char *namespace, struct pods *out, struct err *e)
{
	struct kube_ref ref = {.api = KUBE_CORE, .plural = "pods", .namespace = namespace};
	return kube_list(k, &ref, PAGE_LIMIT, add_pod, out, NULL, e);
}

/* Of a caller who may not list all pods: those of the namespaces that they see. */
static int list_visible(struct rest_cluster *c, const struct rest_caller *caller, struct kube_client *k, struct pods *out, struct rest_problem *p)
{
	char **names;
	ssize_t count = rest_cluster_visible(c, caller, &names, p);
	if (count < 0)
		return -1;
	int rc = 0;
	bool any = false;
	for (ssize_t i = 0; i < count && rc == 0; i++) {
		struct err e = ERR_INIT;
		if (list_pods_of_namespace(k, names[i], out, &e) == 0)
			any = true;
		else if (e.kind != ERR_DENIED)
			rc = rest_cluster_refused(p, k, &e);
	}
	rest_cluster_free_names(names, (size_t)count);
	if (rc == 0 && !any) {
		struct rest_wish w = {"list", "", "pods", NULL};
		return rest_cluster_forbid(p, caller, &w);
	}
	return rc;
}

static int list_visible_pods(struct rest_cluster *c, const struct rest_caller *caller, const char *namespace, struct pods *out, struct rest_problem *p)
{
	struct kube_client *k = rest_cluster_as_caller(c, caller, p);
	if (!k)
		return -1;
	struct err e = ERR_INIT;
	int rc = list_pods_of_namespace(k, namespace, out, &e);
	if (rc < 0 && e.kind == ERR_DENIED && e.code == 403 && !namespace) {
		rc = list_visible(c, caller, k, out, p);
	} else if (rc < 0 && e.kind == ERR_DENIED && e.code == 403) {
		struct rest_wish w = {"list", "", "pods", namespace};
		rest_cluster_forbid(p, caller, &w);
	} else if (rc < 0) {
		rest_cluster_refused(p, k, &e);
	}
	kube_pool_give(c->callers, k);
	return rc;
}

/* JSON ---------------------------------------------------------------------------------------------------------------- */

static const char *process_container_name(const struct listed_pod *pod, const struct link_process *p)
{
	for (size_t i = 0; i < pod->container_count; i++) {
		if (p->container_id[0] && strcmp(pod->containers[i].id, p->container_id) == 0)
			return pod->containers[i].name;
	}
	return p->container;
}

static void set_if_known(json_t *doc, const char *key, int64_t value)
{
	if (value >= 0)
		json_object_set_new(doc, key, json_integer(value));
}

static void set_process_text(json_t *doc, const char *key, const char *text)
{
	json_object_set_new(doc, key, json_string(text ? text : ""));
}

static void put_refusal(json_t *doc, const struct link_process *p)
{
	const char *remedy = reason_remedy(p->reason ? p->reason : "");
	AUTO_FREE char *text = mem_printf("%s%s%s", p->message ? p->message : "", remedy && p->message ? ". " : "", remedy ? remedy : "");
	set_process_text(doc, "reason", p->reason ? p->reason : REASON_InternalError);
	set_process_text(doc, "message", text);
}

static json_t *process_json(const struct listed_pod *pod, const struct link_process *p)
{
	json_t *doc = json_pack("{s:s, s:{s:s, s:s}, s:s, s:s, s:s, s:I, s:b}", "namespace", pod->pod.namespace, "workload", "kind",
				pod->workload.kind, "name", pod->workload.name, "pod", pod->pod.name, "podUID", pod->pod.uid, "node", pod->node,
				"pid", (json_int_t)p->pid, "canProfile", p->can_profile);
	set_process_text(doc, "container", process_container_name(pod, p));
	set_process_text(doc, "entrypoint", p->entrypoint);
	set_process_text(doc, "runtimeVersion", p->runtime_version);
	if (p->user >= 0) {
		char user[24];
		snprintf(user, sizeof user, "%lld", (long long)p->user);
		set_process_text(doc, "user", user);
	}
	set_if_known(doc, "cpuMillicores", p->cpu_millicores);
	set_if_known(doc, "memoryBytes", p->memory_bytes);
	if (!p->can_profile)
		put_refusal(doc, p);
	return doc;
}

static int pod_by_workload(const void *a, const void *b)
{
	const struct listed_pod *x = a, *y = b;
	int order = strcmp(x->pod.namespace, y->pod.namespace);
	order = order ? order : strcmp(x->workload.name, y->workload.name);
	return order ? order : strcmp(x->pod.name, y->pod.name);
}

static json_t *items_json(const struct pods *pods, const struct process_list *found)
{
	json_t *items = json_array();
	for (size_t i = 0; i < pods->count; i++) {
		for (size_t k = 0; k < found->count; k++) {
			if (strcmp(found->items[k].pod_uid, pods->items[i].pod.uid) == 0)
				json_array_append_new(items, process_json(&pods->items[i], &found->items[k]));
		}
	}
	return items;
}

static json_t *warnings_json(const struct pods *pods, const struct process_list *found)
{
	json_t *warnings = json_array();
	for (size_t i = 0; i < found->warning_count; i++) {
		const struct process_warning *w = &found->warnings[i];
		const char *remedy = reason_remedy(w->reason);
		AUTO_FREE char *text = mem_printf("%s%s%s", w->message, remedy ? ". " : "", remedy ? remedy : "");
		json_array_append_new(warnings, json_pack("{s:s, s:s, s:s}", "node", w->node, "reason", w->reason, "message", text));
	}
	if (pods->more)
		json_array_append_new(warnings, json_pack("{s:s, s:s}", "reason", "Incomplete", "message",
							  "There are more pods than are looked at once: choose a namespace."));
	return warnings;
}

int rest_cluster_processes(void *ctx, const struct rest_caller *caller, const char *namespace, bool refresh, json_t **out, struct rest_problem *p)
{
	struct rest_cluster *c = ctx;
	struct pods pods = {.count = 0};
	(void)refresh; /* nothing is kept: agents are asked each time */
	if (list_visible_pods(c, caller, namespace, &pods, p) < 0) {
		pods_fini(&pods);
		return -1;
	}
	if (pods.count)
		qsort(pods.items, pods.count, sizeof *pods.items, pod_by_workload);
	AUTO_FREE struct process_pod *asked = mem_calloc(pods.count + 1, sizeof *asked);
	for (size_t i = 0; i < pods.count; i++) {
		asked[i].pod = pods.items[i].pod;
		memcpy(asked[i].node, pods.items[i].node, sizeof asked[i].node);
	}
	struct process_list found;
	process_queries_ask(c->config.processes, c->config.hub, asked, pods.count, clock_mono_ms() + ANSWER_MS, &found);
	*out = json_pack("{s:o, s:o}", "items", items_json(&pods, &found), "warnings", warnings_json(&pods, &found));
	process_list_fini(&found);
	pods_fini(&pods);
	return 0;
}
