#include "controller/sessions/session_status.h"

#include "common/api/label_selector.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "controller/sessions/session_findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX_BYTES 1024
#define HEADLINE_MAX_BYTES 320 /* 80 characters */
#define DIAGNOSIS_MAX_BYTES 2048

void session_status_set(struct profiling_session *s, enum condition_type type, enum condition_status status, const char *reason,
			const char *message, int64_t now_wall_ms)
{
	struct condition *c = &s->conditions[type];
	if (c->status != status)
		c->since_wall_ms = now_wall_ms;
	c->status = status;
	c->reason = reason;
	c->observed_generation = s->generation;
	char *text = mem_strdup(message ? message : "");
	free(c->message);
	c->message = text;
}

/* "what happened. What to do about it." A message that came back from the status has its remedy already. */
static char *with_remedy(const char *reason, const char *message)
{
	const char *remedy = reason_remedy(reason);
	size_t len = strlen(message);
	if (remedy && strstr(message, remedy))
		return mem_strdup(message);
	const char *stop = len && strchr(".!?", message[len - 1]) ? "" : ".";
	return remedy ? mem_printf("%s%s %s", message, stop, remedy) : mem_strdup(message);
}

void session_status_wait(struct profiling_session *s, const char *reason, const char *said, int64_t now_wall_ms)
{
	AUTO_FREE char *message = with_remedy(reason, said);
	session_status_set(s, CONDITION_ACCEPTED, CONDITION_TRUE, REASON_Accepted, "The specification is valid.", now_wall_ms);
	session_status_set(s, CONDITION_RUNNING, CONDITION_FALSE, reason, message, now_wall_ms);
	session_status_set(s, CONDITION_SUCCEEDED, CONDITION_UNKNOWN, reason, message, now_wall_ms);
	session_status_set(s, CONDITION_COMPLETED, CONDITION_FALSE, reason, message, now_wall_ms);
}

static void finish_session(struct profiling_session *s, bool success, const char *reason, const char *message, int64_t now_wall_ms)
{
	AUTO_FREE char *text = success ? mem_strdup(message) : with_remedy(reason, message);
	session_status_set(s, CONDITION_RUNNING, CONDITION_FALSE, reason, text, now_wall_ms);
	session_status_set(s, CONDITION_SUCCEEDED, success ? CONDITION_TRUE : CONDITION_FALSE, reason, text, now_wall_ms);
	session_status_set(s, CONDITION_COMPLETED, CONDITION_TRUE, reason, text, now_wall_ms);
	if (!s->completed_wall_ms)
		s->completed_wall_ms = now_wall_ms;
}

void session_status_end(struct profiling_session *s, bool accepted, const char *reason, const char *message, int64_t now_wall_ms)
{
	AUTO_FREE char *text = with_remedy(reason, message);
	session_status_set(s, CONDITION_ACCEPTED, accepted ? CONDITION_TRUE : CONDITION_FALSE, accepted ? REASON_Accepted : reason,
			   accepted ? "The specification is valid." : text, now_wall_ms);
	finish_session(s, false, reason, message, now_wall_ms);
}

int64_t session_status_count(const struct profiling_session *s, enum job_phase phase)
{
	int64_t n = 0;
	for (size_t i = 0; i < s->pod_count; i++)
		n += s->pods[i].job.phase == phase;
	return n;
}

static const struct session_pod *first_in(const struct profiling_session *s, enum job_phase phase)
{
	for (size_t i = 0; i < s->pod_count; i++) {
		if (s->pods[i].job.phase == phase)
			return &s->pods[i];
	}
	return NULL;
}

static const char *known_reason(const struct session_pod *p, const char *otherwise)
{
	const char *reason = p->job.reason ? reason_intern(p->job.reason) : NULL;
	return reason ? reason : otherwise;
}

static void conclude_end(struct profiling_session *s, int64_t now_wall_ms)
{
	size_t succeeded = (size_t)session_status_count(s, JOB_SUCCEEDED);
	const struct session_pod *canceled = first_in(s, JOB_CANCELED), *failed = first_in(s, JOB_FAILED);
	if (succeeded == s->pod_count) {
		const char *headline = s->pods[0].job.headline;
		finish_session(s, true, REASON_Completed, headline && headline[0] ? headline : "All pods were profiled.", now_wall_ms);
		return;
	}
	if (canceled && s->spec.cancel) {
		finish_session(s, false, REASON_Canceled, "The session was canceled", now_wall_ms);
		return;
	}
	const struct session_pod *worst = failed ? failed : canceled;
	const char *reason = known_reason(worst, failed ? REASON_InternalError : REASON_Canceled);
	const char *said = worst->job.message ? worst->job.message : reason;
	AUTO_FREE char *text = succeeded ? mem_printf("%zu of %zu pods succeeded; %s: %s: %s", succeeded, s->pod_count, worst->pod_name, reason, said)
					 : mem_printf("pod %s: %s", worst->pod_name, said);
	finish_session(s, false, succeeded ? REASON_PartiallySucceeded : reason, text, now_wall_ms);
}

/* What the session as a whole is doing: the liveliest of its pods tells. */
static const struct session_pod *liveliest(const struct profiling_session *s)
{
	static const enum job_phase order[] = {JOB_PROFILING, JOB_PREPARING, JOB_ANALYZING, JOB_QUEUED, JOB_DELIVERING};
	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
		const struct session_pod *p = first_in(s, order[i]);
		if (p)
			return p;
	}
	return NULL;
}

/* An agent has taken the order, and nothing keeps the job from beginning: nobody needs to be told that it waits. */
static bool begins_at_once(const struct session_pod *p)
{
	bool said = p->job.message && p->job.message[0];
	return p->job.phase == JOB_QUEUED && (!p->reported || (!p->job.queue_position && !said && known_reason(p, REASON_Queued) == REASON_Queued));
}

static const char *pod_phase_reason(const struct session_pod *p)
{
	const char *reason = begins_at_once(p) ? REASON_Pending : reason_intern(job_phase_name(p->job.phase));
	return reason ? reason : REASON_Pending;
}

static char *describe_progress(const struct session_pod *p)
{
	const char *message = p->job.message && p->job.message[0] ? p->job.message : NULL;
	if (p->job.phase == JOB_QUEUED && p->job.queue_position > 0)
		return mem_printf("pod %s: %s%splace %" PRId64 " in the queue of node %s", p->pod_name, message ? message : "", message ? "; " : "",
				  p->job.queue_position, p->node);
	return message ? mem_printf("pod %s: %s", p->pod_name, message) : mem_printf("pod %s on node %s", p->pod_name, p->node);
}

static void conclude_progress(struct profiling_session *s, const struct session_pod *p, int64_t now_wall_ms)
{
	const char *reason = p->reported && begins_at_once(p) ? REASON_Pending : known_reason(p, pod_phase_reason(p));
	bool goes_well = reason == pod_phase_reason(p) || reason == REASON_Queued;
	AUTO_FREE char *progress = describe_progress(p);
	AUTO_FREE char *text = goes_well ? mem_strdup(progress) : with_remedy(reason, progress);
	bool running = p->job.phase == JOB_PREPARING || p->job.phase == JOB_PROFILING || p->job.phase == JOB_ANALYZING;
	session_status_set(s, CONDITION_RUNNING, running ? CONDITION_TRUE : CONDITION_FALSE, reason, text, now_wall_ms);
	session_status_set(s, CONDITION_SUCCEEDED, CONDITION_UNKNOWN, reason, text, now_wall_ms);
	session_status_set(s, CONDITION_COMPLETED, CONDITION_FALSE, reason, text, now_wall_ms);
}

bool session_status_conclude(struct profiling_session *s, int64_t now_wall_ms)
{
	if (s->pod_count == 0 || session_object_completed(s))
		return false;
	session_status_set(s, CONDITION_ACCEPTED, CONDITION_TRUE, REASON_Accepted, "The specification is valid.", now_wall_ms);
	if (!s->started_wall_ms)
		s->started_wall_ms = now_wall_ms;
	const struct session_pod *p = liveliest(s);
	if (p) {
		conclude_progress(s, p, now_wall_ms);
		return false;
	}
	conclude_end(s, now_wall_ms);
	return true;
}

void session_status_add(struct profiling_session *s, const char *sentence, int64_t now_wall_ms)
{
	const struct condition *c = &s->conditions[CONDITION_SUCCEEDED];
	size_t n = c->message ? strlen(c->message) : 0;
	AUTO_FREE char *text = mem_printf("%s%s%s", n ? c->message : "", !n ? "" : c->message[n - 1] == '.' ? " " : ". ", sentence);
	if (c->status != CONDITION_TRUE)
		return;
	session_status_set(s, CONDITION_SUCCEEDED, CONDITION_TRUE, c->reason, text, now_wall_ms);
	session_status_set(s, CONDITION_COMPLETED, CONDITION_TRUE, c->reason, text, now_wall_ms);
}

const char *session_status_state(const struct profiling_session *s)
{
	if (session_object_completed(s)) {
		const struct condition *c = &s->conditions[CONDITION_SUCCEEDED];
		if (c->status == CONDITION_TRUE)
			return "Succeeded";
		if (c->reason == REASON_Canceled || c->reason == REASON_PartiallySucceeded)
			return c->reason;
		return "Failed";
	}
	const struct session_pod *p = liveliest(s);
	if (!p && s->conditions[CONDITION_SUCCEEDED].reason == REASON_Queued)
		return REASON_Queued;
	return p ? pod_phase_reason(p) : "Pending";
}

/* JSON ------------------------------------------------------------------------------------------------------------- */

/* A text from elsewhere as a JSON string: control characters visible (newlines kept when `lines`), cut to max_bytes. */
static json_t *clean(const char *text, size_t max_bytes, bool lines)
{
	AUTO_BUF struct buf out;
	buf_init(&out, max_bytes * 8);
	while (*text && out.len <= max_bytes && !out.full) {
		size_t len = lines ? strcspn(text, "\n") : strlen(text);
		if (len > max_bytes)
			len = max_bytes;
		text_append_printable(&out, text, len);
		text += len;
		if (lines && *text == '\n') {
			buf_putc(&out, '\n');
			text++;
		} else if (*text) {
			break;
		}
	}
	return json_stringn(buf_str(&out), text_cut_utf8(buf_str(&out), max_bytes));
}

static void put_status_text(json_t *obj, const char *key, const char *text, size_t max_bytes)
{
	if (text && text[0])
		json_object_set_new(obj, key, clean(text, max_bytes, false));
}

static void put_status_int(json_t *obj, const char *key, int64_t n)
{
	json_object_set_new(obj, key, json_integer(n > 0 ? n : 0));
}

static void put_status_time(json_t *obj, const char *key, int64_t wall_ms)
{
	char text[CLOCK_RFC3339_SIZE];
	if (wall_ms > 0)
		json_object_set_new(obj, key, json_string(clock_rfc3339(wall_ms, text)));
}

static json_t *session_conditions_json(const struct profiling_session *s)
{
	static const char *const status_names[] = {"", "Unknown", "True", "False"};
	json_t *list = json_array();
	for (int i = 0; i < CONDITION_COUNT; i++) {
		const struct condition *c = &s->conditions[i];
		if (c->status == CONDITION_ABSENT)
			continue;
		json_t *entry = json_object();
		json_object_set_new(entry, "type", json_string(condition_type_name((enum condition_type)i)));
		json_object_set_new(entry, "status", json_string(status_names[c->status]));
		json_object_set_new(entry, "reason", json_string(c->reason));
		json_object_set_new(entry, "message", clean(c->message ? c->message : "", MESSAGE_MAX_BYTES, false));
		put_status_time(entry, "lastTransitionTime", c->since_wall_ms);
		put_status_int(entry, "observedGeneration", c->observed_generation);
		json_array_append_new(list, entry);
	}
	return list;
}

/* What the schema would refuse must not make the whole status fail: no name, a name twice, no SHA-256. */
static bool acceptable(const struct link_job *j, size_t i)
{
	const struct link_report *r = &j->reports[i];
	for (size_t k = 0; k < i; k++) {
		if (strcmp(j->reports[k].name, r->name) == 0)
			return false;
	}
	return r->name[0] && strspn(r->sha256, "0123456789abcdef") == 64 && r->sha256[64] == '\0';
}

static json_t *pod_reports_json(const struct profiling_session *s, const struct session_pod *p, session_report_url_fn *url, void *ctx)
{
	json_t *list = json_array();
	for (size_t i = 0; i < p->job.report_count; i++) {
		const struct link_report *r = &p->job.reports[i];
		if (!acceptable(&p->job, i))
			continue;
		json_t *entry = json_object();
		put_status_text(entry, "name", r->name, 63);
		put_status_text(entry, "mediaType", r->media_type, 63);
		put_status_int(entry, "sizeBytes", r->size_bytes);
		put_status_text(entry, "sha256", r->sha256, 64);
		AUTO_FREE char *place = url && r->delivered ? url(ctx, s, p, r) : NULL;
		put_status_text(entry, "url", place, 2048);
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *pod_json(const struct profiling_session *s, const struct session_pod *p, session_report_url_fn *url, void *ctx)
{
	const struct link_job *j = &p->job;
	json_t *obj = json_object();
	put_status_text(obj, "podName", p->pod_name, 253);
	put_status_text(obj, "podUID", p->pod_uid, 39);
	put_status_text(obj, "nodeName", p->node, 253);
	put_status_text(obj, "workload", p->workload, WORKLOAD_TEXT_SIZE - 1);
	put_status_text(obj, "jobID", j->job_id, 63);
	json_object_set_new(obj, "phase", json_string(p->reported || job_phase_is_final(j->phase) ? job_phase_name(j->phase) : "Pending"));
	put_status_text(obj, "reason", known_reason(p, NULL), 64);
	AUTO_FREE char *text = j->phase == JOB_FAILED && j->message ? with_remedy(j->reason, j->message) : mem_strdup(j->message);
	put_status_text(obj, "message", text, MESSAGE_MAX_BYTES);
	put_status_text(obj, "container", j->container, 63);
	put_status_text(obj, "containerID", j->container_id, 128);
	if (j->pid > 0)
		put_status_int(obj, "pid", j->pid);
	put_status_text(obj, "runtimeVersion", j->runtime_version, 32);
	put_status_text(obj, "summary", j->headline, HEADLINE_MAX_BYTES);
	put_status_time(obj, "startTime", j->started_wall_ms);
	char time[CLOCK_RFC3339_SIZE];
	if (j->first_sample_wall_ms > 0) /* with its fraction: how long it took is of interest */
		json_object_set_new(obj, "firstSampleTime", json_string(clock_rfc3339_micro(j->first_sample_wall_ms * 1000, time)));
	put_status_time(obj, "completionTime", j->completed_wall_ms);
	if (j->started_wall_ms)
		json_object_set_new(obj, "cost", session_cost_to_json(&j->cost));
	if (j->report_count)
		json_object_set_new(obj, "reports", pod_reports_json(s, p, url, ctx));
	return obj;
}

/* One pod: its own diagnosis. Several: a line of each. */
static json_t *diagnosis_json(const struct profiling_session *s)
{
	if (s->pod_count == 1)
		return s->pods[0].job.diagnosis ? clean(s->pods[0].job.diagnosis, DIAGNOSIS_MAX_BYTES, true) : NULL;
	AUTO_BUF struct buf text;
	buf_init(&text, 16384);
	for (size_t i = 0; i < s->pod_count; i++) {
		const struct session_pod *p = &s->pods[i];
		if (p->job.headline && p->job.headline[0])
			buf_printf(&text, "%s%s: %.*s", text.len ? "\n" : "", p->pod_name,
				   (int)text_cut_utf8(p->job.headline, HEADLINE_MAX_BYTES), p->job.headline);
	}
	return text.len ? clean(buf_str(&text), DIAGNOSIS_MAX_BYTES, true) : NULL;
}

static const char *first_headline(const struct profiling_session *s)
{
	for (size_t i = 0; i < s->pod_count; i++) {
		if (s->pods[i].job.headline && s->pods[i].job.headline[0])
			return s->pods[i].job.headline;
	}
	return NULL;
}

static void put_new(json_t *obj, const char *key, json_t *value)
{
	if (value)
		json_object_set_new(obj, key, value);
}

/* The TARGET column. */
static void put_target_column(json_t *status, const struct profiling_session *s)
{
	if (!s->spec_valid)
		return;
	AUTO_BUF struct buf text;
	buf_init(&text, 131072);
	if (s->pod_count == 1)
		buf_puts(&text, s->pods[0].pod_name);
	else if (s->spec.target.pod_name)
		buf_puts(&text, s->spec.target.pod_name);
	else
		label_selector_to_query(s->spec.target.selector, s->spec.target.selector_count, &text);
	put_status_text(status, "targetSummary", buf_str(&text), 253);
}

json_t *session_status_to_json(const struct profiling_session *s, session_report_url_fn *url, void *url_ctx)
{
	json_t *status = json_object();
	put_status_int(status, "observedGeneration", s->generation);
	put_status_text(status, "state", session_status_state(s), 63);
	put_target_column(status, s);
	json_object_set_new(status, "conditions", session_conditions_json(s));
	put_status_time(status, "startTime", s->started_wall_ms);
	put_status_time(status, "completionTime", s->completed_wall_ms);
	put_status_int(status, "podsMatched", s->pods_matched);
	put_status_int(status, "podsSucceeded", session_status_count(s, JOB_SUCCEEDED));
	put_status_int(status, "podsFailed", session_status_count(s, JOB_FAILED));
	put_status_text(status, "requestedBy", s->requested_by, 253);
	put_status_text(status, "headline", first_headline(s), HEADLINE_MAX_BYTES);
	put_new(status, "diagnosis", diagnosis_json(s));
	put_new(status, "findings", session_findings_json(s));
	if (s->comparison && s->comparison[0])
		json_object_set_new(status, "comparison", clean(s->comparison, DIAGNOSIS_MAX_BYTES, true));
	if (s->spec_valid) {
		json_t *effective = session_spec_to_json(&s->spec);
		json_object_del(effective, "target"); /* it stands in the spec and has no defaults worth a copy */
		json_object_del(effective, "cancel");
		json_object_set_new(status, "effective", effective);
	}
	if (s->pod_count) {
		json_t *targets = json_array();
		for (size_t i = 0; i < s->pod_count; i++)
			json_array_append_new(targets, pod_json(s, &s->pods[i], url, url_ctx));
		json_object_set_new(status, "targets", targets);
	}
	return status;
}

json_t *session_status_apply(const struct profiling_session *s, json_t *status_take)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:o}", "apiVersion", API_GROUP_VERSION, "kind", SESSION_KIND, "metadata", "name",
			 s->name, "namespace", s->namespace, "uid", s->uid, "resourceVersion", s->resource_version, "status", status_take);
}
