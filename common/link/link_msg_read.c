#include "common/link/link_msg_private.h"

#include "common/base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A bounded string into the caller's array; absent leaves it empty. */
static int read_array(const json_t *obj, const char *path, const char *key, bool required, char *out, size_t size, struct err *e)
{
	const char *s = NULL;
	if (jsonx_string(obj, path, key, required, &s, e) < 0)
		return -1;
	if (!s)
		return 0;
	size_t len = strlen(s);
	if (len >= size)
		return err_set(e, ERR_PROTOCOL, 0, "%s.%s: longer than %zu bytes", path, key, size - 1);
	if (required && len == 0)
		return err_set(e, ERR_PROTOCOL, 0, "%s.%s: empty", path, key);
	memcpy(out, s, len + 1);
	return 0;
}

/* The same for names that become parts of paths. */
static int read_msg_name(const json_t *obj, const char *path, const char *key, bool required, char *out, size_t size, struct err *e)
{
	if (read_array(obj, path, key, required, out, size, e) < 0)
		return -1;
	if (out[0] && !link_msg_is_name(out))
		return err_set(e, ERR_PROTOCOL, 0, "%s.%s: expected letters, digits, '.', '_' and '-'", path, key);
	return 0;
}

static int read_msg_text(const json_t *obj, const char *path, const char *key, bool required, size_t max_bytes, char **out, struct err *e)
{
	const char *s = NULL;
	if (jsonx_string(obj, path, key, required, &s, e) < 0)
		return -1;
	if (s && strlen(s) > max_bytes)
		return err_set(e, ERR_PROTOCOL, 0, "%s.%s: longer than %zu bytes", path, key, max_bytes);
	*out = mem_strdup(s);
	return 0;
}

int link_msg_read_name(const json_t *obj, const char *path, const char *key, bool required, char *out, size_t size, struct err *e)
{
	return read_msg_name(obj, path, key, required, out, size, e);
}

int link_msg_read_text(const json_t *obj, const char *path, const char *key, bool required, size_t max_bytes, char **out, struct err *e)
{
	return read_msg_text(obj, path, key, required, max_bytes, out, e);
}

static int read_msg_count(const json_t *obj, const char *path, const char *key, int64_t *out, struct err *e)
{
	return jsonx_int(obj, path, key, false, 0, INT64_MAX, out, e);
}

static bool is_sha256(const char *s)
{
	size_t i = 0;
	for (; s[i]; i++) {
		if (!isdigit((unsigned char)s[i]) && !(s[i] >= 'a' && s[i] <= 'f'))
			return false;
	}
	return i == 64;
}

static int read_msg_report(const json_t *obj, const char *path, struct link_report *r, struct err *e)
{
	if (!json_is_object(obj))
		return err_set(e, ERR_PROTOCOL, 0, "%s: expected an object", path);
	if (read_msg_name(obj, path, "name", true, r->name, sizeof r->name, e) < 0 ||
	    read_array(obj, path, "mediaType", true, r->media_type, sizeof r->media_type, e) < 0 ||
	    jsonx_int(obj, path, "sizeBytes", true, 0, INT64_MAX, &r->size_bytes, e) < 0 ||
	    read_array(obj, path, "sha256", true, r->sha256, sizeof r->sha256, e) < 0 ||
	    jsonx_bool(obj, path, "delivered", false, &r->delivered, e) < 0)
		return -1;
	if (!is_sha256(r->sha256))
		return err_set(e, ERR_PROTOCOL, 0, "%s.sha256: expected 64 lower-case hex digits", path);
	for (const char *c = r->media_type; *c; c++) {
		if (!isalnum((unsigned char)*c) && !strchr("/.+-;=_ ", *c))
			return err_set(e, ERR_PROTOCOL, 0, "%s.mediaType: unexpected character", path);
	}
	return 0;
}

static int read_job_reports(const json_t *obj, struct link_job *j, struct err *e)
{
	const json_t *list = NULL;
	if (jsonx_array(obj, "job", "reports", false, &list, e) < 0)
		return -1;
	if (json_array_size(list) > LINK_MAX_REPORTS)
		return err_set(e, ERR_PROTOCOL, 0, "job.reports: more than %d", LINK_MAX_REPORTS);
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (read_msg_report(json_array_get(list, i), "job.reports[]", &j->reports[i], e) < 0)
			return -1;
		j->report_count = i + 1;
	}
	return 0;
}

static int read_job_cost(const json_t *obj, struct session_cost *c, struct err *e)
{
	const json_t *cost = NULL;
	if (jsonx_object(obj, "job", "cost", false, &cost, e) < 0 ||
	    read_msg_count(cost, "job.cost", "maxPauseMicroseconds", &c->max_pause_us, e) < 0 ||
	    read_msg_count(cost, "job.cost", "maxWaitMicroseconds", &c->max_wait_us, e) < 0 ||
	    read_msg_count(cost, "job.cost", "addedCPUMilliseconds", &c->added_cpu_ms, e) < 0 ||
	    read_msg_count(cost, "job.cost", "agentCPUMilliseconds", &c->agent_cpu_ms, e) < 0 ||
	    read_msg_count(cost, "job.cost", "droppedSamples", &c->dropped_samples, e) < 0 ||
	    read_msg_count(cost, "job.cost", "blockingCollections", &c->blocking_collections, e) < 0 ||
	    read_msg_count(cost, "job.cost", "blockingCollectionMicroseconds", &c->blocking_collections_us, e) < 0)
		return -1;
	return read_msg_count(cost, "job.cost", "samples", &c->samples, e);
}

static int read_phase(const json_t *obj, enum job_phase *out, struct err *e)
{
	const char *name = NULL;
	if (jsonx_string(obj, "job", "phase", true, &name, e) < 0)
		return -1;
	if (job_phase_parse(name, out) < 0)
		return err_set(e, ERR_PROTOCOL, 0, "job.phase: unknown");
	return 0;
}

static int read_job_session(const json_t *obj, struct link_job *j, struct err *e)
{
	const json_t *session = NULL;
	char namespace[64] = "", name[254] = "";
	if (jsonx_object(obj, "job", "session", false, &session, e) < 0)
		return -1;
	if (!session)
		return 0;
	if (read_msg_name(session, "job.session", "namespace", true, namespace, sizeof namespace, e) < 0 ||
	    read_msg_name(session, "job.session", "name", true, name, sizeof name, e) < 0)
		return -1;
	j->session_namespace = mem_strdup(namespace);
	j->session_name = mem_strdup(name);
	return 0;
}

static int read_job_findings(const json_t *obj, struct link_job *j, struct err *e)
{
	const json_t *list = NULL;
	struct finding read[FINDINGS_REPORTED];
	if (jsonx_array(obj, "job", "findings", false, &list, e) < 0)
		return -1;
	j->finding_count = findings_from_json(list, read);
	j->findings = findings_copy(read, j->finding_count);
	return 0;
}

static int read_job(const json_t *obj, struct link_job *j, struct err *e)
{
	if (read_msg_name(obj, "job", "jobID", true, j->job_id, sizeof j->job_id, e) < 0 || read_phase(obj, &j->phase, e) < 0 ||
	    read_msg_text(obj, "job", "reason", false, LINK_TEXT_REASON, &j->reason, e) < 0 ||
	    read_msg_text(obj, "job", "message", false, LINK_TEXT_MESSAGE, &j->message, e) < 0 ||
	    read_msg_count(obj, "job", "queuePosition", &j->queue_position, e) < 0 ||
	    read_msg_text(obj, "job", "container", false, LINK_TEXT_NAME, &j->container, e) < 0 ||
	    read_msg_text(obj, "job", "containerID", false, LINK_TEXT_NAME, &j->container_id, e) < 0 ||
	    read_msg_count(obj, "job", "pid", &j->pid, e) < 0 || jsonx_bool(obj, "job", "processEnded", false, &j->process_ended, e) < 0 ||
	    read_msg_text(obj, "job", "runtimeVersion", false, LINK_TEXT_NAME, &j->runtime_version, e) < 0 ||
	    read_msg_text(obj, "job", "headline", false, LINK_TEXT_HEADLINE, &j->headline, e) < 0 ||
	    read_msg_text(obj, "job", "diagnosis", false, LINK_TEXT_DIAGNOSIS, &j->diagnosis, e) < 0 ||
	    read_msg_count(obj, "job", "firstSampleTime", &j->first_sample_wall_ms, e) < 0 ||
	    read_msg_count(obj, "job", "startTime", &j->started_wall_ms, e) < 0 ||
	    read_msg_count(obj, "job", "completionTime", &j->completed_wall_ms, e) < 0 || read_job_cost(obj, &j->cost, e) < 0 ||
	    read_job_session(obj, j, e) < 0 || read_job_findings(obj, j, e) < 0)
		return -1;
	return read_job_reports(obj, j, e);
}

/* Agents from before this list serve what was there then; what they have and we do not know is passed over. */
static int read_profilers(const json_t *doc, unsigned *out, struct err *e)
{
	const json_t *names = NULL;
	if (jsonx_array(doc, "hello", "profilers", false, &names, e) < 0)
		return -1;
	*out = names ? 0 : 1u << PROFILER_CPU_HOTPATHS;
	if (json_array_size(names) > LINK_MAX_PROFILERS)
		return err_set(e, ERR_PROTOCOL, 0, "hello.profilers: more than %d", LINK_MAX_PROFILERS);
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));
		enum profiler_kind kind;
		if (!name)
			return err_set(e, ERR_PROTOCOL, 0, "hello.profilers[]: expected a name");
		if (profiler_kind_parse(name, &kind) == 0)
			*out |= 1u << kind;
	}
	return 0;
}

static int read_hello(const json_t *doc, struct link_msg *m, struct err *e)
{
	if (read_array(doc, "hello", "agentVersion", true, m->u.hello.agent_version, sizeof m->u.hello.agent_version, e) < 0 ||
	    read_msg_name(doc, "hello", "bootID", true, m->u.hello.boot_id, sizeof m->u.hello.boot_id, e) < 0 ||
	    read_msg_name(doc, "hello", "mode", true, m->u.hello.mode, sizeof m->u.hello.mode, e) < 0 ||
	    jsonx_bool(doc, "hello", "perfEvents", false, &m->u.hello.perf_events, e) < 0 ||
	    jsonx_bool(doc, "hello", "processQueries", false, &m->u.hello.process_queries, e) < 0 ||
	    jsonx_bool(doc, "hello", "podStarts", false, &m->u.hello.pod_starts, e) < 0 ||
	    jsonx_bool(doc, "hello", "jobsComplete", false, &m->u.hello.jobs_complete, e) < 0 || read_profilers(doc, &m->u.hello.profilers, e) < 0)
		return -1;
	const json_t *jobs = NULL;
	if (jsonx_array(doc, "hello", "jobs", false, &jobs, e) < 0)
		return -1;
	size_t count = json_array_size(jobs);
	if (count > LINK_MAX_JOBS)
		return err_set(e, ERR_PROTOCOL, 0, "hello.jobs: more than %d", LINK_MAX_JOBS);
	if (count)
		m->u.hello.jobs = mem_calloc(count, sizeof *m->u.hello.jobs);
	for (size_t i = 0; i < count; i++) {
		const json_t *job = json_array_get(jobs, i);
		if (!json_is_object(job))
			return err_set(e, ERR_PROTOCOL, 0, "hello.jobs[]: expected an object");
		m->u.hello.job_count = i + 1;
		if (read_job(job, &m->u.hello.jobs[i], e) < 0)
			return -1;
	}
	return 0;
}

static int read_order_containers(const json_t *pod, struct link_order *o, struct err *e)
{
	const json_t *list = NULL;
	if (jsonx_array(pod, "pod", "containers", false, &list, e) < 0)
		return -1;
	size_t count = json_array_size(list);
	if (count > LINK_MAX_CONTAINERS)
		return err_set(e, ERR_PROTOCOL, 0, "pod.containers: more than %d", LINK_MAX_CONTAINERS);
	for (size_t i = 0; i < count; i++) {
		struct link_container *c = &o->containers[i];
		const json_t *item = json_array_get(list, i);
		if (!json_is_object(item))
			return err_set(e, ERR_PROTOCOL, 0, "pod.containers[]: expected an object");
		if (read_msg_name(item, "pod.containers[]", "name", true, c->name, sizeof c->name, e) < 0 ||
		    read_msg_name(item, "pod.containers[]", "id", false, c->id, sizeof c->id, e) < 0)
			return -1;
		o->container_count = i + 1;
	}
	return 0;
}

static int read_order(const json_t *doc, struct link_order *o, struct err *e)
{
	const json_t *session = NULL, *pod = NULL, *spec = NULL;
	if (read_msg_name(doc, "order", "jobID", true, o->job_id, sizeof o->job_id, e) < 0 ||
	    jsonx_object(doc, "order", "session", true, &session, e) < 0 ||
	    read_msg_name(session, "session", "namespace", true, o->session_namespace, sizeof o->session_namespace, e) < 0 ||
	    read_msg_name(session, "session", "name", true, o->session_name, sizeof o->session_name, e) < 0 ||
	    read_msg_name(session, "session", "uid", true, o->session_uid, sizeof o->session_uid, e) < 0 ||
	    read_array(session, "session", "requestedBy", false, o->requested_by, sizeof o->requested_by, e) < 0 ||
	    jsonx_object(doc, "order", "pod", true, &pod, e) < 0 ||
	    read_msg_name(pod, "pod", "namespace", true, o->pod_namespace, sizeof o->pod_namespace, e) < 0 ||
	    read_msg_name(pod, "pod", "name", true, o->pod_name, sizeof o->pod_name, e) < 0 ||
	    read_msg_name(pod, "pod", "uid", true, o->pod_uid, sizeof o->pod_uid, e) < 0 || read_order_containers(pod, o, e) < 0 ||
	    jsonx_int(doc, "order", "deadlineTime", false, 0, INT64_MAX, &o->deadline_wall_ms, e) < 0 ||
	    jsonx_int(doc, "order", "millisecondsLeft", false, 0, INT64_MAX / 2, &o->left_ms, e) < 0 ||
	    jsonx_object(doc, "order", "spec", true, &spec, e) < 0)
		return -1;
	/* A newer controller may know settings that we do not: its order is refused by a job report, and the link goes on. */
	struct err why = ERR_INIT;
	if (session_spec_from_json(spec, true, &o->spec, &why) < 0)
		snprintf(o->spec_error, sizeof o->spec_error, "%s", why.message);
	return 0;
}

static int read_usage_query(const json_t *doc, struct link_msg *m, struct err *e)
{
	const json_t *uids = NULL;
	if (jsonx_int(doc, "usageQuery", "requestID", true, 1, INT64_MAX, &m->u.usage_query.request_id, e) < 0 ||
	    jsonx_int(doc, "usageQuery", "windowMilliseconds", true, 0, 60000, &m->u.usage_query.window_ms, e) < 0 ||
	    jsonx_array(doc, "usageQuery", "podUIDs", true, &uids, e) < 0)
		return -1;
	size_t count = json_array_size(uids);
	if (count > LINK_MAX_PODS)
		return err_set(e, ERR_PROTOCOL, 0, "usageQuery.podUIDs: more than %d", LINK_MAX_PODS);
	m->u.usage_query.pod_uids = mem_calloc(count ? count : 1, sizeof *m->u.usage_query.pod_uids);
	m->u.usage_query.count = count;
	for (size_t i = 0; i < count; i++) {
		const char *uid = json_string_value(json_array_get(uids, i));
		if (!uid || strlen(uid) >= sizeof *m->u.usage_query.pod_uids || !link_msg_is_name(uid))
			return err_set(e, ERR_PROTOCOL, 0, "usageQuery.podUIDs[]: expected a uid");
		strcpy(m->u.usage_query.pod_uids[i], uid);
	}
	return 0;
}

static int read_usage(const json_t *doc, struct link_msg *m, struct err *e)
{
	const json_t *pods = NULL;
	if (jsonx_int(doc, "usage", "requestID", true, 1, INT64_MAX, &m->u.usage.request_id, e) < 0 ||
	    jsonx_array(doc, "usage", "pods", true, &pods, e) < 0)
		return -1;
	size_t count = json_array_size(pods);
	if (count > LINK_MAX_PODS)
		return err_set(e, ERR_PROTOCOL, 0, "usage.pods: more than %d", LINK_MAX_PODS);
	m->u.usage.pods = mem_calloc(count ? count : 1, sizeof *m->u.usage.pods);
	m->u.usage.count = count;
	for (size_t i = 0; i < count; i++) {
		struct link_pod_usage *p = &m->u.usage.pods[i];
		const json_t *item = json_array_get(pods, i);
		if (!json_is_object(item))
			return err_set(e, ERR_PROTOCOL, 0, "usage.pods[]: expected an object");
		if (read_msg_name(item, "usage.pods[]", "uid", true, p->pod_uid, sizeof p->pod_uid, e) < 0 ||
		    jsonx_int(item, "usage.pods[]", "cpuMillicores", true, -1, INT64_MAX, &p->cpu_millicores, e) < 0 ||
		    jsonx_int(item, "usage.pods[]", "memoryBytes", true, -1, INT64_MAX, &p->memory_bytes, e) < 0)
			return -1;
	}
	return 0;
}

static int read_job_id(const json_t *doc, struct link_msg *m, struct err *e)
{
	return read_msg_name(doc, "", "jobID", true, m->job_id, sizeof m->job_id, e);
}

static int read_upload_request(const json_t *doc, struct link_msg *m, struct err *e)
{
	const json_t *report = NULL;
	if (read_job_id(doc, m, e) < 0 || jsonx_object(doc, "uploadRequest", "report", true, &report, e) < 0)
		return -1;
	return read_msg_report(report, "uploadRequest.report", &m->u.upload_request.report, e);
}

static int read_grant(const json_t *doc, struct link_msg *m, struct err *e)
{
	if (read_job_id(doc, m, e) < 0 ||
	    read_msg_name(doc, "", "name", true, m->u.upload_grant.report_name, sizeof m->u.upload_grant.report_name, e) < 0 ||
	    read_msg_text(doc, "", "url", true, LINK_TEXT_URL, &m->u.upload_grant.url, e) < 0 ||
	    read_msg_text(doc, "", "contentType", true, LINK_TEXT_NAME, &m->u.upload_grant.content_type, e) < 0)
		return -1;
	bool own_store = false;
	if (jsonx_bool(doc, "", "ownStore", false, &own_store, e) < 0)
		return -1;
	if (json_object_get(doc, "ownStore"))
		m->u.upload_grant.place = own_store ? LINK_PLACE_OWN_STORE : LINK_PLACE_OBJECTS;
	return read_msg_count(doc, "", "expirationTime", &m->u.upload_grant.expires_wall_ms, e);
}

static int read_denied(const json_t *doc, struct link_msg *m, struct err *e)
{
	if (read_job_id(doc, m, e) < 0 ||
	    read_msg_name(doc, "", "name", true, m->u.upload_denied.report_name, sizeof m->u.upload_denied.report_name, e) < 0 ||
	    read_msg_text(doc, "", "reason", false, LINK_TEXT_REASON, &m->u.upload_denied.reason, e) < 0 ||
	    read_msg_text(doc, "", "message", false, LINK_TEXT_MESSAGE, &m->u.upload_denied.message, e) < 0)
		return -1;
	return jsonx_bool(doc, "", "retry", false, &m->u.upload_denied.retry, e);
}

static int read_observe(const json_t *doc, struct link_msg *m, struct err *e)
{
	if (jsonx_int(doc, "observe", "validSeconds", true, 1, LINK_OBSERVE_MAX_VALID_SECONDS, &m->u.observe.valid_seconds, e) < 0)
		return -1;
	return link_observations_from_json(doc, &m->u.observe.items, &m->u.observe.count, e);
}

static int read_started(const json_t *doc, struct link_msg *m, struct err *e)
{
	if (read_msg_name(doc, "started", "podUID", true, m->u.started.pod_uid, sizeof m->u.started.pod_uid, e) < 0)
		return -1;
	return read_msg_name(doc, "started", "containerID", true, m->u.started.container_id, sizeof m->u.started.container_id, e);
}

int link_msg_read_body(const json_t *doc, struct link_msg *m, struct err *e)
{
	switch (m->type) {
	case LINK_MSG_HELLO:
		return read_hello(doc, m, e);
	case LINK_MSG_TOKEN:
		return read_msg_text(doc, "", "token", true, LINK_TEXT_TOKEN, &m->u.token.token, e);
	case LINK_MSG_JOB:
		return read_job(doc, &m->u.job, e);
	case LINK_MSG_UPLOAD_REQUEST:
		return read_upload_request(doc, m, e);
	case LINK_MSG_USAGE:
		return read_usage(doc, m, e);
	case LINK_MSG_ORDER:
		return read_order(doc, &m->u.order, e);
	case LINK_MSG_CANCEL:
	case LINK_MSG_FORGET:
		return read_job_id(doc, m, e);
	case LINK_MSG_UPLOAD_GRANT:
		return read_grant(doc, m, e);
	case LINK_MSG_UPLOAD_DENIED:
		return read_denied(doc, m, e);
	case LINK_MSG_USAGE_QUERY:
		return read_usage_query(doc, m, e);
	case LINK_MSG_OBSERVE:
		return read_observe(doc, m, e);
	case LINK_MSG_OBSERVED:
		return link_observed_from_json(doc, &m->u.observed.items, &m->u.observed.count, e);
	case LINK_MSG_PROCESS_QUERY:
		return link_process_query_read(doc, &m->u.process_query, e);
	case LINK_MSG_AWAIT_STARTS:
		return link_await_starts_read(doc, &m->u.await_starts, e);
	case LINK_MSG_STARTED:
		return read_started(doc, m, e);
	case LINK_MSG_PROCESSES:
		return link_processes_read(doc, &m->u.processes, e);
	case LINK_MSG_LEADER:
	case LINK_MSG_JOBS_COMPLETE:
	case LINK_MSG_UNKNOWN:
		break;
	}
	return 0;
}
