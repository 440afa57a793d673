#include "controller/kube/workload.h"

#include <stdio.h>
#include <string.h>

#define DUE_MINUTES (7 * 24 * 60) /* until the last pod of a Job that is tried again and again, or was late */

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

/* "nightly-29930257": a CronJob's controller names a Job by the minute that it was due, and that is not long before its pods are made. The pod's labels,
 * which the Job's controller sets, say that it is this Job's. */
static size_t without_minute(const json_t *pod, const json_t *owner, const char *name)
{
	const json_t *labels = jsonx_at(pod, "metadata.labels");
	const char *job = json_string_value(json_object_get(labels, "batch.kubernetes.io/job-name"));
	const char *uid = json_string_value(json_object_get(labels, "batch.kubernetes.io/controller-uid"));
	const char *dash = strrchr(name, '-');
	int64_t created_minute = jsonx_time_at(pod, "metadata.creationTimestamp") / 60000, minute = 0;
	size_t digits = dash ? strspn(dash + 1, "0123456789") : 0;
	if (!job || !uid || strcmp(job, name) != 0 || strcmp(uid, jsonx_str_at(owner, "uid", "")) != 0)
		return 0;
	if (!dash || dash == name || dash[1 + digits] || digits != 8)
		return 0;
	for (size_t i = 1; i <= digits; i++)
		minute = minute * 10 + dash[i] - '0';
	return minute <= created_minute && created_minute - minute <= DUE_MINUTES ? (size_t)(dash - name) : 0;
}

void workload_of_pod(const json_t *pod, struct workload *out)
{
	const json_t *owner = controller_of(pod);
	const char *kind = owner ? jsonx_str_at(owner, "kind", "") : "Pod";
	const char *name = owner ? jsonx_str_at(owner, "name", "") : jsonx_str_at(pod, "metadata.name", "");
	const char *hash = json_string_value(json_object_get(jsonx_at(pod, "metadata.labels"), "pod-template-hash"));
	size_t len = strcmp(kind, "ReplicaSet") == 0 ? without_hash(name, hash) : 0;
	size_t run = strcmp(kind, "Job") == 0 ? without_minute(pod, owner, name) : 0;
	snprintf(out->kind, sizeof out->kind, "%s", len ? "Deployment" : run ? "CronJob" : kind);
	len += run;
	snprintf(out->name, sizeof out->name, "%.*s", (int)(len ? len : strlen(name)), name);
}

void workload_text_of_pod(const json_t *pod, char out[WORKLOAD_TEXT_SIZE])
{
	struct workload w;
	workload_of_pod(pod, &w);
	snprintf(out, WORKLOAD_TEXT_SIZE, "%s/%s", w.kind, w.name);
}
