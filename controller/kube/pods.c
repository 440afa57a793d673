#include "controller/kube/pods.h"

#include "common/api/label_selector.h"
#include "common/api/reason.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#include <stdio.h>
#include <string.h>

#define PAGE_LIMIT 100

void pod_info_fini(struct pod_info *p)
{
	if (!p)
		return;
	free(p->containers);
	*p = (struct pod_info){0};
}

static void read_pod_container(const json_t *entry, bool counts_as_start, struct pod_info *out)
{
	const char *id = jsonx_str_at(entry, "containerID", "");
	const char *scheme = strstr(id, "://"); /* "containerd://<id>", "cri-o://<id>", "docker://<id>" */
	int64_t started_wall_ms = jsonx_time_at(entry, "state.running.startedAt");
	if (counts_as_start && started_wall_ms > out->started_wall_ms)
		out->started_wall_ms = started_wall_ms;
	if (out->container_count == LINK_MAX_CONTAINERS || !scheme || !jsonx_at(entry, "state.running"))
		return;
	struct link_container *c = &out->containers[out->container_count];
	if (strlen(scheme + 3) >= sizeof c->id)
		return;
	out->container_count++;
	jsonx_copy_at(entry, "name", c->name, sizeof c->name);
	snprintf(c->id, sizeof c->id, "%s", scheme + 3);
}

/* Of all kinds; their names differ. Readiness does not wait for an ephemeral container. */
static void read_pod_containers(const json_t *pod, struct pod_info *out)
{
	static const char *const lists[] = {"status.containerStatuses", "status.initContainerStatuses", "status.ephemeralContainerStatuses"};
	size_t most = 0, i;
	json_t *entry;
	for (size_t k = 0; k < 3; k++)
		most += json_array_size(jsonx_at(pod, lists[k]));
	most = most < LINK_MAX_CONTAINERS ? most : LINK_MAX_CONTAINERS;
	out->containers = mem_calloc(most ? most : 1, sizeof *out->containers);
	for (size_t k = 0; k < 3; k++)
		json_array_foreach(jsonx_at(pod, lists[k]), i, entry)
			read_pod_container(entry, k < 2, out);
}

/* One of its init containers runs. */
static bool initialises(const json_t *pod)
{
	size_t i;
	json_t *entry;
	json_array_foreach(jsonx_at(pod, "status.initContainerStatuses"), i, entry)
		if (jsonx_at(entry, "state.running"))
			return true;
	return false;
}

static void read_readiness(const json_t *pod, struct pod_info *out)
{
	size_t i;
	json_t *entry;
	json_array_foreach(jsonx_at(pod, "status.conditions"), i, entry) {
		if (strcmp(jsonx_str_at(entry, "type", ""), "Ready") != 0)
			continue;
		out->ready = strcmp(jsonx_str_at(entry, "status", ""), "True") == 0;
		out->ready_wall_ms = out->ready ? jsonx_time_at(entry, "lastTransitionTime") : 0;
		return;
	}
}

int64_t pod_ready_after_ms(const struct pod_info *p)
{
	return p->ready_wall_ms && p->started_wall_ms && p->ready_wall_ms >= p->started_wall_ms ? p->ready_wall_ms - p->started_wall_ms : -1;
}

/* These name each of their pods anew; others (StatefulSets, operators, the kubelet's own) make one of the same name again. */
static bool is_made_again(const json_t *pod)
{
	static const char *const name_anew[] = {"ReplicaSet", "ReplicationController", "DaemonSet", "Job"};
	size_t i;
	json_t *owner;
	json_array_foreach(jsonx_at(pod, "metadata.ownerReferences"), i, owner) {
		if (!json_is_true(json_object_get(owner, "controller")))
			continue;
		for (size_t k = 0; k < sizeof name_anew / sizeof name_anew[0]; k++) {
			if (strcmp(jsonx_str_at(owner, "kind", ""), name_anew[k]) == 0)
				return false;
		}
		return true;
	}
	return false;
}

void pod_info_from_json(const json_t *pod, struct pod_info *out)
{
	*out = (struct pod_info){.load = -1};
	jsonx_copy_at(pod, "metadata.name", out->name, sizeof out->name);
	jsonx_copy_at(pod, "metadata.uid", out->uid, sizeof out->uid);
	jsonx_copy_at(pod, "spec.nodeName", out->node, sizeof out->node);
	workload_text_of_pod(pod, out->workload);
	out->created_wall_ms = jsonx_time_at(pod, "metadata.creationTimestamp");
	const char *phase = jsonx_str_at(pod, "status.phase", "");
	read_readiness(pod, out);
	out->deleting = jsonx_at(pod, "metadata.deletionTimestamp") != NULL;
	bool ended = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
	out->over = (ended || out->deleting) && !is_made_again(pod);
	read_pod_containers(pod, out);
	out->running = (strcmp(phase, "Running") == 0 || (strcmp(phase, "Pending") == 0 && initialises(pod))) && out->node[0];
}

char *pods_selector_text(const struct label_requirement *r, size_t count)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 131072);
	label_selector_to_query(r, count, &text);
	return buf_steal(&text);
}

void pod_list_fini(struct pod_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->count; i++)
		pod_info_fini(&l->items[i]);
	free(l->items);
	*l = (struct pod_list){0};
}

/* Takes what *pod owns. */
static void consider_take(struct pod_list *l, struct pod_info *pod, bool ready_needed)
{
	l->matched++;
	if (!pod->running || pod->deleting) {
		l->excluded_not_running++;
	} else if (ready_needed && !pod->ready) {
		l->excluded_not_ready++;
	} else if (l->count < PODS_MAX) {
		GROW(l->items, l->count, l->cap);
		l->items[l->count++] = *pod;
		*pod = (struct pod_info){0};
	}
	pod_info_fini(pod);
}

static int consider_listed_pod(void *ctx, const json_t *item, struct err *e)
{
	(void)e;
	struct pod_info pod;
	pod_info_from_json(item, &pod);
	consider_take(ctx, &pod, true);
	return 0;
}

static int find_by_selector(struct kube_client *c, const struct kube_ref *ref, const struct session_target *t, struct pod_list *out,
			    const char **reason, struct err *e)
{
	AUTO_FREE char *selector = pods_selector_text(t->selector, t->selector_count);
	struct kube_ref matching = *ref;
	matching.label_selector = selector;
	if (kube_list(c, &matching, PAGE_LIMIT, consider_listed_pod, out, NULL, e) < 0)
		return -1;
	*reason = out->excluded_not_ready ? REASON_PodNotReady : out->excluded_not_running ? REASON_PodNotRunning : REASON_NoPodsMatched;
	if (out->count == PODS_MAX)
		LOG_WARN("pods", "the selector matches more pods than are looked at", LOG_S("selector", selector), LOG_I("matched", out->matched));
	return 0;
}

static int find_by_name(struct kube_client *c, const struct kube_ref *ref, struct pod_list *out, const char **reason, struct err *e)
{
	struct err why = ERR_INIT;
	AUTO_JSON json_t *doc = NULL;
	*reason = REASON_PodNotFound;
	if (kube_get(c, ref, &doc, &why) < 0) {
		if (why.kind == ERR_NOT_FOUND)
			return 0;
		*e = why;
		return -1;
	}
	struct pod_info pod;
	pod_info_from_json(doc, &pod);
	*reason = pod.over ? REASON_PodGone : REASON_PodNotRunning;
	consider_take(out, &pod, false);
	return 0;
}

int pods_find(struct kube_client *c, const char *namespace, const struct session_target *t, struct pod_list *out, const char **reason, struct err *e)
{
	*out = (struct pod_list){0};
	struct kube_ref ref = {.api = KUBE_CORE, .plural = "pods", .namespace = namespace, .name = t->pod_name};
	int rc = t->pod_name ? find_by_name(c, &ref, out, reason, e) : find_by_selector(c, &ref, t, out, reason, e);
	if (rc < 0)
		pod_list_fini(out);
	return rc;
}

struct uid_search {
	const char *uid;
	struct pod_info *out;
	bool found;
};

static int take_if_wanted(void *ctx, const json_t *item, struct err *e)
{
	struct uid_search *s = ctx;
	(void)e;
	if (s->found || strcmp(jsonx_str_at(item, "metadata.uid", ""), s->uid) != 0)
		return 0;
	s->found = true;
	pod_info_from_json(item, s->out);
	return 0;
}

int pods_find_uid(struct kube_client *c, const char *namespace, const struct session_target *t, const char *uid, struct pod_info *out, struct err *e)
{
	struct uid_search s = {uid, out, false};
	struct kube_ref ref = {.api = KUBE_CORE, .plural = "pods", .namespace = namespace, .name = t->pod_name};
	struct err why = ERR_INIT;
	int rc;
	if (t->pod_name) {
		AUTO_JSON json_t *doc = NULL;
		rc = kube_get(c, &ref, &doc, &why);
		if (rc == 0)
			take_if_wanted(&s, doc, NULL);
	} else {
		AUTO_FREE char *selector = pods_selector_text(t->selector, t->selector_count);
		ref.label_selector = selector;
		rc = kube_list(c, &ref, PAGE_LIMIT, take_if_wanted, &s, NULL, &why);
	}
	if (rc == 0 || why.kind == ERR_NOT_FOUND)
		return s.found;
	*e = why;
	return -1;
}

static int read_pod(struct kube_client *c, const char *namespace, const char *name, const char *uid, json_t **out, struct err *e)
{
	struct kube_ref ref = {.api = KUBE_CORE, .plural = "pods", .namespace = namespace, .name = name};
	AUTO_JSON json_t *doc = NULL;
	if (kube_get(c, &ref, &doc, e) < 0)
		return -1;
	if (strcmp(jsonx_str_at(doc, "metadata.uid", ""), uid) != 0)
		return err_set_reason(e, ERR_NOT_FOUND, REASON_PodGone, "pod %s/%s: it was replaced by another of the same name", namespace, name);
	*out = steal_ptr(&doc);
	return 0;
}

int pods_get(struct kube_client *c, const char *namespace, const char *name, const char *uid, struct pod_info *out, struct err *e)
{
	AUTO_JSON json_t *doc = NULL;
	if (read_pod(c, namespace, name, uid, &doc, e) < 0)
		return -1;
	pod_info_from_json(doc, out);
	return 0;
}

int pods_container_end(struct kube_client *c, const char *namespace, const char *name, const char *uid, const char *container_id,
		       struct container_end *out, struct err *e)
{
	AUTO_JSON json_t *doc = NULL;
	return read_pod(c, namespace, name, uid, &doc, e) < 0 ? -1 : container_end_of_pod(doc, container_id, out);
}

static int compare_pods(const void *a, const void *b)
{
	const struct pod_info *x = a, *y = b;
	if (x->linked != y->linked)
		return x->linked ? -1 : 1;
	bool x_free = !x->occupied_by[0], y_free = !y->occupied_by[0];
	if (x_free != y_free)
		return x_free ? -1 : 1;
	if (!x_free && x->occupied_until_wall_ms != y->occupied_until_wall_ms) /* who waits, waits where it ends first */
		return y->occupied_until_wall_ms == 0 || (x->occupied_until_wall_ms && x->occupied_until_wall_ms < y->occupied_until_wall_ms) ? -1 : 1;
	if (x->load != y->load)
		return x->load > y->load ? -1 : 1;
	if (x->created_wall_ms != y->created_wall_ms)
		return x->created_wall_ms > y->created_wall_ms ? -1 : 1;
	return strcmp(x->name, y->name);
}

void pods_rank(struct pod_list *l)
{
	if (l->count)
		qsort(l->items, l->count, sizeof *l->items, compare_pods);
}

size_t pods_take(const struct pod_list *l, size_t wanted)
{
	size_t free_ones = 0, most = l->count < wanted ? l->count : wanted;
	while (free_ones < most && l->items[free_ones].linked && !l->items[free_ones].occupied_by[0])
		free_ones++;
	bool next_is_occupied = free_ones < most && l->items[free_ones].linked;
	return free_ones && next_is_occupied ? free_ones : most;
}
