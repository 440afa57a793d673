#include "controller/kube/workload.h"

#include <stdio.h>
#include <string.h>

static const json_t *controller_of(const json_t *pod)
{
	const json_t *owners = jsonx_at(pod, "metadata.ownerReferences");
	for (size_t i = 0; i < json_array_size(owners); i++) {
		if (json_is_true(json_object_get(json_array_get(owners, i), "controller")))
			return json_array_get(owners, i);
	}
	return NULL;
}

/* "checkout-7d8f9c6b5" of the template 7d8f9c6b5 */
static size_t without_hash(const char *name, const char *hash)
{
	size_t n = strlen(name), h = hash ? strlen(hash) : 0;
	bool ends = h > 0 && n > h + 1 && name[n - h - 1] == '-' && strcmp(name + n - h, hash) == 0;
	return ends ? n - h - 1 : 0;
}

void workload_of_pod(const json_t *pod, struct workload *out)
{
	const json_t *owner = controller_of(pod);
	const char *kind = owner ? jsonx_str_at(owner, "kind", "") : "Pod";
	const char *name = owner ? jsonx_str_at(owner, "name", "") : jsonx_str_at(pod, "metadata.name", "");
	const char *hash = json_string_value(json_object_get(jsonx_at(pod, "metadata.labels"), "pod-template-hash"));
	size_t len = strcmp(kind, "ReplicaSet") == 0 ? without_hash(name, hash) : 0;
	snprintf(out->kind, sizeof out->kind, "%s", len ? "Deployment" : kind);
	snprintf(out->name, sizeof out->name, "%.*s", (int)(len ? len : strlen(name)), name);
}

void workload_text_of_pod(const json_t *pod, char out[WORKLOAD_TEXT_SIZE])
{
	struct workload w;
	workload_of_pod(pod, &w);
	snprintf(out, WORKLOAD_TEXT_SIZE, "%s/%s", w.kind, w.name);
}
