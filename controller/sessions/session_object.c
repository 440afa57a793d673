#include "controller/sessions/session_object.h"

#include "common/api/reason.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "controller/sessions/session_findings.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FINALIZERS 64
#define KEY_HASH_BYTES 16

static const char *const condition_names[CONDITION_COUNT] = {"Accepted", "Running", "Succeeded", "Completed"};

const char *condition_type_name(enum condition_type type)
{
	return condition_names[type];
}

void session_object_key(const struct profiling_session *s, char out[SESSION_KEY_SIZE])
{
	snprintf(out, SESSION_KEY_SIZE, "%s/%s", s->namespace, s->name);
}

bool session_object_completed(const struct profiling_session *s)
{
	return s->conditions[CONDITION_COMPLETED].status == CONDITION_TRUE;
}

bool session_object_deleting(const struct profiling_session *s)
{
	return s->deleted_wall_ms != 0;
}

bool session_object_has_finalizer(const struct profiling_session *s)
{
	for (size_t i = 0; i < s->finalizer_count; i++) {
		if (strcmp(s->finalizers[i], SESSION_FINALIZER) == 0)
			return true;
	}
	return false;
}

void session_job_id(const char *session_uid, size_t index, size_t attempt, char out[LINK_ID_SIZE])
{
	if (attempt)
		snprintf(out, LINK_ID_SIZE, "%s-%zu.%zu", session_uid, index, attempt);
	else
		snprintf(out, LINK_ID_SIZE, "%s-%zu", session_uid, index);
}

/* Digits, and no more than `digits` of them; *end: what follows. -1: there are none, or it is not less than `limit`. */
static int parse_number(const char *text, size_t digits, size_t limit, size_t *out, const char **end)
{
	size_t len = strspn(text, "0123456789");
	if (len == 0 || len > digits)
		return -1;
	*out = strtoul(text, NULL, 10);
	*end = text + len;
	return *out < limit ? 0 : -1;
}

int session_job_id_parse(const char *job_id, char session_uid[40], size_t *index, size_t *attempt)
{
	const char *dash = strrchr(job_id, '-'), *end;
	size_t len = dash ? (size_t)(dash - job_id) : 0, n, again = 0;
	if (len == 0 || len >= 40 || parse_number(dash + 1, 2, SESSION_MAX_TARGETS, &n, &end) < 0)
		return -1;
	if (*end == '.' && (parse_number(end + 1, 3, SESSION_MAX_ATTEMPTS, &again, &end) < 0 || !again))
		return -1;
	if (*end)
		return -1;
	memcpy(session_uid, job_id, len);
	session_uid[len] = '\0';
	*index = n;
	if (attempt)
		*attempt = again;
	return 0;
}

bool session_job_is_earlier(const char *job_id, const char *other)
{
	char uid[2][40];
	size_t index[2], attempt[2];
	return session_job_id_parse(job_id, uid[0], &index[0], &attempt[0]) == 0 && session_job_id_parse(other, uid[1], &index[1], &attempt[1]) == 0 &&
	       strcmp(uid[0], uid[1]) == 0 && index[0] == index[1] && attempt[0] < attempt[1];
}

bool session_object_unassigned(const struct profiling_session *s)
{
	char uid[40];
	size_t index, attempt;
	if (s->pod_count != 1 || !s->spec_valid || s->spec.start != START_NEXT_CONTAINER)
		return s->pod_count == 0;
	const struct link_job *j = &s->pods[0].job;
	return j->phase == JOB_FAILED && j->reason && strcmp(j->reason, REASON_StartMissed) == 0 &&
	       session_job_id_parse(j->job_id, uid, &index, &attempt) == 0 && attempt + 1 < SESSION_MAX_ATTEMPTS;
}

static void shorten(const char *name, char out[SESSION_KEY_NAME_MAX + 1])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	size_t len = strlen(name), kept = SESSION_KEY_NAME_MAX - 1 - 2 * KEY_HASH_BYTES;
	if (len <= SESSION_KEY_NAME_MAX) {
		memcpy(out, name, len + 1);
		return;
	}
	EVP_Digest(name, len, digest, NULL, EVP_sha256(), NULL);
	memcpy(out, name, kept);
	out[kept] = '_';
	text_hex(digest, KEY_HASH_BYTES, out + kept + 1);
}

int session_report_prefix(const char *namespace, const char *name, const char *uid, const char *pod, char *out, size_t size, struct err *e)
{
	char session_part[SESSION_KEY_NAME_MAX + 1], pod_part[SESSION_KEY_NAME_MAX + 1];
	shorten(name, session_part);
	shorten(pod, pod_part);
	int n = snprintf(out, size, "%s/%s-%.8s/%s/", namespace, session_part, uid, pod_part);
	return n > 0 && (size_t)n < size ? 0 : err_set(e, ERR_INVALID, 0, "the names of session and pod are too long for an object's key");
}

static uint64_t fnv_mix(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = data;
	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h;
}

static uint64_t hash_object(const json_t *value)
{
	uint64_t sum = 0x4f;
	const char *key;
	json_t *field;
	json_object_foreach((json_t *)value, key, field) {
		uint64_t h = fnv_mix(1469598103934665603u, key, strlen(key) + 1);
		uint64_t v = session_json_hash(field);
		sum += fnv_mix(h, &v, sizeof v); /* a sum: the keys' order does not matter */
	}
	return fnv_mix(sum, "{", 1);
}

uint64_t session_json_hash(const json_t *value)
{
	uint64_t h = 1469598103934665603u;
	size_t i;
	json_t *item;
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return hash_object(value);
	case JSON_ARRAY:
		json_array_foreach(value, i, item) {
			uint64_t v = session_json_hash(item);
			h = fnv_mix(h, &v, sizeof v);
		}
		return fnv_mix(h, "[", 1);
	case JSON_STRING:
		return fnv_mix(fnv_mix(h, json_string_value(value), json_string_length(value)), "s", 1);
	case JSON_INTEGER: {
		json_int_t n = json_integer_value(value);
		return fnv_mix(fnv_mix(h, &n, sizeof n), "i", 1);
	}
	case JSON_REAL: {
		double d = json_real_value(value);
		return fnv_mix(fnv_mix(h, &d, sizeof d), "r", 1);
	}
	default:
		return fnv_mix(h, json_is_true(value) ? "t" : json_is_false(value) ? "f" : "n", 1);
	}
}

static bool is_of_trigger(const json_t *object)
{
	size_t i;
	json_t *owner;
	json_array_foreach(jsonx_at(object, "metadata.ownerReferences"), i, owner) {
		if (strcmp(jsonx_str_at(owner, "kind", ""), "ProfilingTrigger") == 0)
			return true;
	}
	return false;
}

static int read_session_metadata(const json_t *object, struct profiling_session *s, struct err *e)
{
	jsonx_copy_at(object, "metadata.namespace", s->namespace, sizeof s->namespace);
	jsonx_copy_at(object, "metadata.name", s->name, sizeof s->name);
	jsonx_copy_at(object, "metadata.uid", s->uid, sizeof s->uid);
	jsonx_copy_at(object, "metadata.resourceVersion", s->resource_version, sizeof s->resource_version);
	if (!s->namespace[0] || !s->name[0] || !s->uid[0] || !s->resource_version[0])
		return err_set(e, ERR_PROTOCOL, 0, "ProfilingSession: metadata lacks namespace, name, uid or resourceVersion");
	s->generation = jsonx_int_at(object, "metadata.generation", 0);
	s->of_trigger = is_of_trigger(object);
	s->requested_by = mem_strdup(json_string_value(json_object_get(jsonx_at(object, "metadata.annotations"), SESSION_REQUESTED_BY)));
	s->created_wall_ms = jsonx_time_at(object, "metadata.creationTimestamp");
	s->deleted_wall_ms = jsonx_time_at(object, "metadata.deletionTimestamp");
	const json_t *list = jsonx_at(object, "metadata.finalizers");
	size_t count = json_array_size(list);
	s->finalizers = mem_calloc(count ? count : 1, sizeof *s->finalizers);
	for (size_t i = 0; i < count && i < MAX_FINALIZERS; i++) {
		const char *text = json_string_value(json_array_get(list, i));
		if (text)
			s->finalizers[s->finalizer_count++] = mem_strdup(text);
	}
	return 0;
}

static void read_session_condition(const json_t *entry, struct profiling_session *s)
{
	const char *type = jsonx_str_at(entry, "type", "");
	const char *status = jsonx_str_at(entry, "status", "");
	for (int i = 0; i < CONDITION_COUNT; i++) {
		if (strcmp(type, condition_names[i]) != 0)
			continue;
		struct condition *c = &s->conditions[i];
		c->status = strcmp(status, "True") == 0 ? CONDITION_TRUE : strcmp(status, "False") == 0 ? CONDITION_FALSE : CONDITION_UNKNOWN;
		const char *reason = reason_intern(jsonx_str_at(entry, "reason", ""));
		c->reason = reason ? reason : REASON_InternalError;
		free(c->message);
		c->message = jsonx_dup_at(entry, "message");
		c->since_wall_ms = jsonx_time_at(entry, "lastTransitionTime");
		c->observed_generation = jsonx_int_at(entry, "observedGeneration", 0);
	}
}

static void read_status_reports(const json_t *list, struct link_job *job)
{
	size_t i;
	json_t *entry;
	json_array_foreach(list, i, entry) {
		if (job->report_count == LINK_MAX_REPORTS)
			return;
		struct link_report *r = &job->reports[job->report_count++];
		jsonx_copy_at(entry, "name", r->name, sizeof r->name);
		jsonx_copy_at(entry, "mediaType", r->media_type, sizeof r->media_type);
		jsonx_copy_at(entry, "sha256", r->sha256, sizeof r->sha256);
		r->size_bytes = jsonx_int_at(entry, "sizeBytes", 0);
		r->delivered = jsonx_at(entry, "url") != NULL;
	}
}

static void read_status_cost(const json_t *entry, struct session_cost *c)
{
	c->max_pause_us = jsonx_int_at(entry, "cost.maxPauseMicroseconds", 0);
	c->max_wait_us = jsonx_int_at(entry, "cost.maxWaitMicroseconds", 0);
	c->added_cpu_ms = jsonx_int_at(entry, "cost.addedCPUMilliseconds", 0);
	c->agent_cpu_ms = jsonx_int_at(entry, "cost.agentCPUMilliseconds", 0);
	c->dropped_samples = jsonx_int_at(entry, "cost.droppedSamples", 0);
	c->samples = jsonx_int_at(entry, "cost.samples", 0);
	c->blocking_collections = jsonx_int_at(entry, "cost.blockingCollections", 0);
	c->blocking_collections_us = jsonx_int_at(entry, "cost.blockingCollectionMicroseconds", 0);
}

static void read_pod(const json_t *entry, struct session_pod *p)
{
	jsonx_copy_at(entry, "podName", p->pod_name, sizeof p->pod_name);
	jsonx_copy_at(entry, "podUID", p->pod_uid, sizeof p->pod_uid);
	jsonx_copy_at(entry, "nodeName", p->node, sizeof p->node);
	jsonx_copy_at(entry, "workload", p->workload, sizeof p->workload);
	struct link_job *j = &p->job;
	jsonx_copy_at(entry, "jobID", j->job_id, sizeof j->job_id);
	p->reported = job_phase_parse(jsonx_str_at(entry, "phase", ""), &j->phase) == 0;
	if (!p->reported)
		j->phase = JOB_QUEUED;
	j->reason = jsonx_dup_at(entry, "reason");
	j->message = jsonx_dup_at(entry, "message");
	j->container = jsonx_dup_at(entry, "container");
	j->container_id = jsonx_dup_at(entry, "containerID");
	j->pid = jsonx_int_at(entry, "pid", 0);
	j->runtime_version = jsonx_dup_at(entry, "runtimeVersion");
	j->headline = jsonx_dup_at(entry, "summary");
	j->first_sample_wall_ms = jsonx_time_at(entry, "firstSampleTime");
	j->started_wall_ms = jsonx_time_at(entry, "startTime");
	j->completed_wall_ms = jsonx_time_at(entry, "completionTime");
	read_status_cost(entry, &j->cost);
	read_status_reports(jsonx_at(entry, "reports"), j);
}

static void read_session_status(const json_t *status, struct profiling_session *s)
{
	size_t i;
	json_t *entry;
	json_array_foreach(jsonx_at(status, "conditions"), i, entry)
		read_session_condition(entry, s);
	s->started_wall_ms = jsonx_time_at(status, "startTime");
	s->completed_wall_ms = jsonx_time_at(status, "completionTime");
	s->pods_matched = jsonx_int_at(status, "podsMatched", 0);
	s->comparison = jsonx_dup_at(status, "comparison");
	const json_t *targets = jsonx_at(status, "targets");
	size_t count = json_array_size(targets);
	if (count > SESSION_MAX_TARGETS)
		count = SESSION_MAX_TARGETS;
	if (count) {
		s->pods = mem_calloc(count, sizeof *s->pods);
		s->pod_count = count;
	}
	for (i = 0; i < count; i++)
		read_pod(json_array_get(targets, i), &s->pods[i]);
	if (count == 1) /* with several pods the session's diagnosis is made of their headlines */
		s->pods[0].job.diagnosis = jsonx_dup_at(status, "diagnosis");
	session_findings_read(jsonx_at(status, "findings"), s);
}

int session_object_from_json(const json_t *object, struct profiling_session *out, struct err *e)
{
	*out = (struct profiling_session){0};
	if (read_session_metadata(object, out, e) < 0) {
		session_object_fini(out);
		return -1;
	}
	const json_t *status = jsonx_at(object, "status");
	if (status && json_is_object(status)) {
		read_session_status(status, out);
		out->status_hash = session_json_hash(status);
	}
	struct err why = ERR_INIT;
	out->spec_valid = session_spec_from_json(jsonx_at(object, "spec"), true, &out->spec, &why) == 0;
	if (!out->spec_valid)
		out->spec_error = mem_strdup(why.message);
	return 0;
}

void session_object_drop_pods(struct profiling_session *s)
{
	for (size_t i = 0; i < s->pod_count; i++)
		link_job_fini(&s->pods[i].job);
	free(s->pods);
	s->pods = NULL;
	s->pod_count = 0;
}

void session_object_fini(struct profiling_session *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->finalizer_count; i++)
		free(s->finalizers[i]);
	free(s->finalizers);
	free(s->requested_by);
	if (s->spec_valid)
		session_spec_fini(&s->spec);
	free(s->spec_error);
	free(s->comparison);
	for (int i = 0; i < CONDITION_COUNT; i++)
		free(s->conditions[i].message);
	session_object_drop_pods(s);
	*s = (struct profiling_session){0};
}

void session_object_copy(struct profiling_session *out, const struct profiling_session *from)
{
	*out = *from;
	out->requested_by = mem_strdup(from->requested_by);
	out->finalizers = mem_calloc(from->finalizer_count ? from->finalizer_count : 1, sizeof *out->finalizers);
	for (size_t i = 0; i < from->finalizer_count; i++)
		out->finalizers[i] = mem_strdup(from->finalizers[i]);
	if (from->spec_valid)
		session_spec_copy(&out->spec, &from->spec);
	out->spec_error = mem_strdup(from->spec_error);
	out->comparison = mem_strdup(from->comparison);
	for (int i = 0; i < CONDITION_COUNT; i++)
		out->conditions[i].message = mem_strdup(from->conditions[i].message);
	out->pods = from->pod_count ? mem_calloc(from->pod_count, sizeof *out->pods) : NULL;
	for (size_t i = 0; i < from->pod_count; i++) {
		out->pods[i] = from->pods[i];
		link_job_copy(&out->pods[i].job, &from->pods[i].job);
	}
}
