/* A ProfilingSession as an API server might give it. What is understood can be planned, concluded and written, and what is written stays
 * within the resource's bounds and is read again. */
#include "controller/sessions/plan.h"
#include "controller/sessions/session_status.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_MS INT64_C(1790000000000)

static void check_status(const json_t *status)
{
	size_t i;
	json_t *entry;
	if (strlen(jsonx_str_at(status, "diagnosis", "")) > 2048 || strlen(jsonx_str_at(status, "headline", "")) > 320)
		abort();
	if (json_array_size(jsonx_at(status, "targets")) > SESSION_MAX_TARGETS)
		abort();
	json_array_foreach(jsonx_at(status, "targets"), i, entry) {
		if (json_array_size(jsonx_at(entry, "reports")) > LINK_MAX_REPORTS)
			abort();
	}
	json_array_foreach(jsonx_at(status, "conditions"), i, entry) {
		if (strlen(jsonx_str_at(entry, "message", "")) > 1024)
			abort();
	}
}

/* Names that others read: a job's id leads back to its session, and no part of a report's key leaves its folder. */
static void name_things(const struct profiling_session *s)
{
	char job[LINK_ID_SIZE], uid[40], key[SESSION_KEY_SIZE], prefix[1024];
	size_t index = 0, attempt = 0;
	session_object_key(s, key);
	session_job_id(s->uid, 3, 7, job);
	if (session_job_id_parse(job, uid, &index, &attempt) == 0 && (index != 3 || attempt != 7 || strncmp(uid, s->uid, 36) != 0))
		abort();
	session_job_id_parse(s->name, uid, &index, NULL);
	session_object_unassigned(s);
	struct err e = ERR_INIT;
	if (session_report_prefix(s->namespace, s->name, s->uid, s->pod_count ? s->pods[0].pod_name : "pod", prefix, sizeof prefix, &e) == 0 &&
	    (strlen(prefix) == 0 || prefix[strlen(prefix) - 1] != '/'))
		abort();
}

static void use(struct profiling_session *s)
{
	name_things(s);
	struct plan_pod_view *views = calloc(s->pod_count ? s->pod_count : 1, sizeof *views);
	for (size_t i = 0; i < s->pod_count; i++)
		views[i] = (struct plan_pod_view){.linked = i % 2, .ordered_age_ms = (int64_t)i - 1, .canceled_age_ms = -1};
	struct plan p;
	plan_make(s, views, NOW_MS, &p);
	session_status_conclude(s, NOW_MS);
	AUTO_JSON json_t *status = session_status_to_json(s, NULL, NULL);
	check_status(status);
	AUTO_JSON json_t *apply = session_status_apply(s, json_incref(status));
	if (!apply)
		abort();
	free(views);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse((const char *)data, size, "fuzz", &e);
	struct profiling_session s, copy;
	if (!doc || session_object_from_json(doc, &s, &e) < 0)
		return 0;
	session_object_copy(&copy, &s);
	use(&copy);
	session_object_fini(&copy);
	session_object_fini(&s);
	return 0;
}
