#include "agent/serve/serve_document.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/link/session_cost.h"
#include "common/rest/rest_backend.h"
#include "common/rest/rest_id.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void set_text_if_any(json_t *obj, const char *key, const char *text)
{
	json_t *v = text && *text ? json_string(text) : NULL; /* NULL for bytes that are not UTF-8 too */
	if (v)
		json_object_set_new(obj, key, v);
}

static void set_time(json_t *obj, const char *key, int64_t wall_ms)
{
	char text[CLOCK_RFC3339_SIZE];
	if (wall_ms)
		set_text_if_any(obj, key, clock_rfc3339(wall_ms, text));
}

static bool session_is_over(const struct serve_facts *f)
{
	return job_phase_is_final(f->phase);
}

static const char *session_reason(const struct serve_facts *f)
{
	if (f->phase == JOB_SUCCEEDED)
		return REASON_Completed;
	if (f->phase == JOB_CANCELED)
		return f->reason ? f->reason : REASON_Canceled;
	if (f->phase == JOB_FAILED)
		return f->reason ? f->reason : REASON_InternalError;
	return job_phase_name(f->phase);
}

/* What happened, and what to do about it. */
static char *session_message(const struct serve_facts *f)
{
	const char *reason = session_reason(f), *message = f->message && *f->message ? f->message : reason;
	const char *remedy = f->phase == JOB_FAILED ? reason_remedy(reason) : NULL;
	if (f->phase == JOB_SUCCEEDED)
		return mem_strdup(f->headline && *f->headline ? f->headline : "The process was profiled.");
	bool ended = strchr(".!?", message[strlen(message) - 1]);
	return remedy ? mem_printf("%s%s %s", message, ended ? "" : ".", remedy) : mem_strdup(message);
}

static void add_condition(json_t *list, const char *type, const char *status, const char *reason, const char *message, int64_t wall_ms)
{
	json_t *c = json_object();
	set_text_if_any(c, "type", type);
	set_text_if_any(c, "status", status);
	set_text_if_any(c, "reason", reason);
	json_object_set_new(c, "message", json_string(""));
	set_text_if_any(c, "message", message);
	set_time(c, "lastTransitionTime", wall_ms);
	json_array_append_new(list, c);
}

static json_t *make_conditions(const struct serve_facts *f)
{
	bool over = session_is_over(f), running = !over && f->phase != JOB_QUEUED;
	int64_t since = over ? f->completed_wall_ms : f->started_wall_ms ? f->started_wall_ms : f->created_wall_ms;
	const char *reason = session_reason(f), *succeeded = !over ? "Unknown" : f->phase == JOB_SUCCEEDED ? "True" : "False";
	AUTO_FREE char *message = session_message(f);
	json_t *list = json_array();
	add_condition(list, "Accepted", "True", REASON_Accepted, "The specification is valid.", f->created_wall_ms);
	add_condition(list, "Running", running ? "True" : "False", reason, message, since);
	add_condition(list, "Succeeded", succeeded, reason, message, over ? since : f->created_wall_ms);
	add_condition(list, "Completed", over ? "True" : "False", reason, message, over ? since : f->created_wall_ms);
	return list;
}

static json_t *make_reports(const struct serve_facts *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->report_count; i++) {
		const struct link_report *r = &f->reports[i];
		json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:s}", "name", r->name, "mediaType", r->media_type, "sizeBytes",
						      (json_int_t)r->size_bytes, "sha256", r->sha256));
	}
	return list;
}

static json_t *make_targets(const struct serve_facts *f)
{
	json_t *list = json_array();
	if (!f->pod_name || !*f->pod_name)
		return list;
	json_t *t = json_object();
	set_text_if_any(t, "podName", f->pod_name);
	set_text_if_any(t, "phase", job_phase_name(f->phase));
	if (session_is_over(f))
		set_text_if_any(t, "reason", session_reason(f));
	set_text_if_any(t, "message", f->message);
	set_text_if_any(t, "summary", f->headline);
	set_text_if_any(t, "runtimeVersion", f->runtime_version);
	json_object_set_new(t, "pid", json_integer(f->pid));
	set_time(t, "startTime", f->started_wall_ms);
	set_time(t, "firstSampleTime", f->first_sample_wall_ms);
	set_time(t, "completionTime", f->completed_wall_ms);
	if (f->cost)
		json_object_set_new(t, "cost", session_cost_to_json(f->cost));
	json_object_set_new(t, "reports", make_reports(f));
	json_array_append_new(list, t);
	return list;
}

static char *describe_target(const struct serve_facts *f)
{
	const struct session_target *t = &f->effective->target;
	if (f->pod_name && *f->pod_name)
		return mem_printf("%s (pid %lld)", f->entrypoint ? f->entrypoint : "process", (long long)f->pid);
	if (t->pid)
		return mem_printf("pid %lld", (long long)t->pid);
	return mem_strdup(t->entrypoint ? t->entrypoint : "the only .NET process");
}

static json_t *make_status(const struct serve_facts *f, const char *target)
{
	bool chosen = f->pod_name && *f->pod_name;
	json_t *s = json_object();
	json_object_set_new(s, "observedGeneration", json_integer(1));
	set_text_if_any(s, "state", job_phase_name(f->phase));
	set_text_if_any(s, "targetSummary", target);
	set_text_if_any(s, "headline", f->headline);
	set_text_if_any(s, "diagnosis", f->diagnosis);
	if (f->finding_count)
		json_object_set_new(s, "findings", findings_to_json(f->findings, f->finding_count));
	set_text_if_any(s, "comparison", f->comparison);
	set_time(s, "startTime", f->started_wall_ms);
	set_time(s, "completionTime", f->completed_wall_ms);
	json_object_set_new(s, "podsMatched", json_integer(chosen));
	json_object_set_new(s, "podsSucceeded", json_integer(chosen && f->phase == JOB_SUCCEEDED));
	json_object_set_new(s, "podsFailed", json_integer(chosen && f->phase == JOB_FAILED));
	json_object_set_new(s, "effective", session_spec_to_json(f->effective));
	json_object_set_new(s, "conditions", make_conditions(f));
	json_object_set_new(s, "targets", make_targets(f));
	return s;
}

json_t *serve_document_make(const struct serve_facts *f)
{
	char id[320];
	AUTO_FREE char *target = describe_target(f);
	json_t *s = json_object();
	rest_session_id_print(SERVE_NAMESPACE, f->name, id);
	set_text_if_any(s, "id", id);
	set_text_if_any(s, "namespace", SERVE_NAMESPACE);
	set_text_if_any(s, "name", f->name);
	set_text_if_any(s, "uid", f->uid);
	set_text_if_any(s, "profiler", profiler_kind_name(f->effective->profiler));
	set_text_if_any(s, "target", target);
	set_text_if_any(s, "state", job_phase_name(f->phase));
	set_text_if_any(s, "headline", f->headline);
	set_time(s, "createdAt", f->created_wall_ms);
	set_time(s, "completedAt", f->completed_wall_ms);
	set_text_if_any(s, "requestedBy", "local");
	json_object_set_new(s, "spec", json_deep_copy(f->spec));
	json_object_set_new(s, "status", make_status(f, target));
	return s;
}

json_t *serve_document_summary(const json_t *session)
{
	json_t *s = json_object(), *value;
	const char *key;
	json_object_foreach((json_t *)session, key, value)
		if (strcmp(key, "spec") != 0 && strcmp(key, "status") != 0)
			json_object_set_new(s, key, json_deep_copy(value));
	return s;
}

bool serve_document_is_good(const json_t *session, const char *name)
{
	static const char *const texts[] = {"id", "uid", "profiler", "target", "state", "createdAt"};
	int64_t created;
	char id[320];
	rest_session_id_print(SERVE_NAMESPACE, name, id);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!jsonx_str_at(session, texts[i], NULL))
			return false;
	return strcmp(jsonx_str_at(session, "name", ""), name) == 0 && strcmp(jsonx_str_at(session, "id", ""), id) == 0 &&
	       clock_parse_rfc3339(jsonx_str_at(session, "createdAt", ""), &created) == 0 && json_is_object(json_object_get(session, "spec")) &&
	       json_is_array(jsonx_at(session, "status.conditions")) && json_is_array(jsonx_at(session, "status.targets"));
}

void serve_document_interrupt(json_t *session, int64_t now_wall_ms)
{
	static const char message[] = "The program that served this session ended before the session did. Start it again.";
	json_t *status = json_object_get(session, "status"), *list = json_array(), *target;
	size_t i;
	add_condition(list, "Accepted", "True", REASON_Accepted, "The specification is valid.", now_wall_ms);
	add_condition(list, "Running", "False", REASON_InternalError, message, now_wall_ms);
	add_condition(list, "Succeeded", "False", REASON_InternalError, message, now_wall_ms);
	add_condition(list, "Completed", "True", REASON_InternalError, message, now_wall_ms);
	json_object_set_new(status, "conditions", list);
	json_array_foreach(json_object_get(status, "targets"), i, target) {
		set_text_if_any(target, "phase", job_phase_name(JOB_FAILED));
		set_text_if_any(target, "reason", REASON_InternalError);
		set_text_if_any(target, "message", message);
	}
	set_text_if_any(status, "state", job_phase_name(JOB_FAILED));
	set_text_if_any(session, "state", job_phase_name(JOB_FAILED));
	set_time(status, "completionTime", now_wall_ms);
	set_time(session, "completedAt", now_wall_ms);
}

void serve_document_pod_name(const char *entrypoint, int64_t pid, char out[64])
{
	size_t n = 0;
	for (const char *c = entrypoint ? entrypoint : ""; *c && n < 40; c++) {
		if (isalnum((unsigned char)*c) && (unsigned char)*c < 0x80)
			out[n++] = (char)tolower((unsigned char)*c);
		else if (n && out[n - 1] != '-')
			out[n++] = '-';
	}
	while (n && out[n - 1] == '-')
		n--;
	if (n == 0)
		n = (size_t)snprintf(out, 64, "process");
	snprintf(out + n, 64 - n, "-%lld", (long long)pid);
}
