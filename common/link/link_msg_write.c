#include "common/link/link_msg_private.h"

#include "common/base/text.h"

#include <string.h>

/* Texts may come from the target's metadata or the kernel: bytes that are no UTF-8 become U+FFFD, long ones are cut. */
static void put_msg_text(json_t *obj, const char *key, const char *s, size_t max_bytes)
{
	if (!s)
		return;
	AUTO_BUF struct buf clean;
	buf_init(&clean, max_bytes);
	size_t len = strlen(s);
	for (size_t i = 0; i < len;) {
		uint32_t code_point;
		size_t used = text_decode_utf8(s + i, len - i, &code_point);
		int rc = code_point == 0xFFFD ? buf_puts(&clean, "\xEF\xBF\xBD") : buf_append(&clean, s + i, used);
		if (rc < 0)
			break;
		i += used;
	}
	json_object_set_new(obj, key, json_stringn(buf_str(&clean), clean.len));
}

void link_msg_put_text(json_t *obj, const char *key, const char *s, size_t max_bytes)
{
	put_msg_text(obj, key, s, max_bytes);
}

static void put_msg_name(json_t *obj, const char *key, const char *s)
{
	if (s[0])
		put_msg_text(obj, key, s, 256);
}

static void put_msg_int(json_t *obj, const char *key, int64_t value)
{
	if (value)
		json_object_set_new(obj, key, json_integer(value));
}

static json_t *write_report(const struct link_report *r)
{
	json_t *obj = json_object();
	put_msg_name(obj, "name", r->name);
	put_msg_name(obj, "mediaType", r->media_type);
	json_object_set_new(obj, "sizeBytes", json_integer(r->size_bytes));
	put_msg_name(obj, "sha256", r->sha256);
	json_object_set_new(obj, "delivered", json_boolean(r->delivered));
	return obj;
}

static void write_job(json_t *obj, const struct link_job *j)
{
	put_msg_name(obj, "jobID", j->job_id);
	json_object_set_new(obj, "phase", json_string(job_phase_name(j->phase)));
	put_msg_text(obj, "reason", j->reason, LINK_TEXT_REASON);
	put_msg_text(obj, "message", j->message, LINK_TEXT_MESSAGE);
	put_msg_int(obj, "queuePosition", j->queue_position);
	put_msg_text(obj, "container", j->container, LINK_TEXT_NAME);
	put_msg_text(obj, "containerID", j->container_id, LINK_TEXT_NAME);
	put_msg_int(obj, "pid", j->pid);
	if (j->process_ended)
		json_object_set_new(obj, "processEnded", json_true());
	put_msg_text(obj, "runtimeVersion", j->runtime_version, LINK_TEXT_NAME);
	put_msg_text(obj, "headline", j->headline, LINK_TEXT_HEADLINE);
	put_msg_text(obj, "diagnosis", j->diagnosis, LINK_TEXT_DIAGNOSIS);
	put_msg_int(obj, "firstSampleTime", j->first_sample_wall_ms);
	put_msg_int(obj, "startTime", j->started_wall_ms);
	put_msg_int(obj, "completionTime", j->completed_wall_ms);
	if (j->finding_count)
		json_object_set_new(obj, "findings", findings_to_json(j->findings, j->finding_count));
	json_object_set_new(obj, "cost", session_cost_to_json(&j->cost));
	json_t *reports = json_array();
	for (size_t i = 0; i < j->report_count; i++)
		json_array_append_new(reports, write_report(&j->reports[i]));
	json_object_set_new(obj, "reports", reports);
	if (!j->session_namespace || !j->session_name)
		return;
	json_t *session = json_object();
	put_msg_name(session, "namespace", j->session_namespace);
	put_msg_name(session, "name", j->session_name);
	json_object_set_new(obj, "session", session);
}

static void write_hello(json_t *doc, const struct link_msg *m)
{
	put_msg_name(doc, "agentVersion", m->u.hello.agent_version);
	put_msg_name(doc, "bootID", m->u.hello.boot_id);
	put_msg_name(doc, "mode", m->u.hello.mode);
	json_object_set_new(doc, "perfEvents", json_boolean(m->u.hello.perf_events));
	json_object_set_new(doc, "processQueries", json_boolean(m->u.hello.process_queries));
	if (m->u.hello.pod_starts)
		json_object_set_new(doc, "podStarts", json_true());
	if (m->u.hello.jobs_complete)
		json_object_set_new(doc, "jobsComplete", json_true());
	json_t *profilers = json_array();
	for (int i = 0; profiler_kinds() >> i; i++) {
		if (m->u.hello.profilers >> i & 1)
			json_array_append_new(profilers, json_string(profiler_kind_name((enum profiler_kind)i)));
	}
	json_object_set_new(doc, "profilers", profilers);
	json_t *jobs = json_array();
	for (size_t i = 0; i < m->u.hello.job_count; i++) {
		json_t *job = json_object();
		write_job(job, &m->u.hello.jobs[i]);
		json_array_append_new(jobs, job);
	}
	json_object_set_new(doc, "jobs", jobs);
}

static void write_order(json_t *doc, const struct link_order *o)
{
	put_msg_name(doc, "jobID", o->job_id);
	json_t *session = json_object();
	put_msg_name(session, "namespace", o->session_namespace);
	put_msg_name(session, "name", o->session_name);
	put_msg_name(session, "uid", o->session_uid);
	put_msg_name(session, "requestedBy", o->requested_by);
	json_object_set_new(doc, "session", session);
	json_t *pod = json_object();
	put_msg_name(pod, "namespace", o->pod_namespace);
	put_msg_name(pod, "name", o->pod_name);
	put_msg_name(pod, "uid", o->pod_uid);
	json_t *containers = json_array();
	for (size_t i = 0; i < o->container_count; i++) {
		json_t *c = json_object();
		put_msg_name(c, "name", o->containers[i].name);
		put_msg_name(c, "id", o->containers[i].id);
		json_array_append_new(containers, c);
	}
	json_object_set_new(pod, "containers", containers);
	json_object_set_new(doc, "pod", pod);
	json_t *spec = session_spec_to_json(&o->spec);
	json_object_del(spec, "priority"); /* it was the controller's to obey; older agents do not know it, nor what is not asked for */
	if (!o->spec.reveal)
		json_object_del(spec, "reveal");
	json_object_set_new(doc, "spec", spec);
	put_msg_int(doc, "deadlineTime", o->deadline_wall_ms);
	put_msg_int(doc, "millisecondsLeft", o->left_ms);
}

static void write_usage_query(json_t *doc, const struct link_msg *m)
{
	json_object_set_new(doc, "requestID", json_integer(m->u.usage_query.request_id));
	json_object_set_new(doc, "windowMilliseconds", json_integer(m->u.usage_query.window_ms));
	json_t *uids = json_array();
	for (size_t i = 0; i < m->u.usage_query.count; i++)
		json_array_append_new(uids, json_string(m->u.usage_query.pod_uids[i]));
	json_object_set_new(doc, "podUIDs", uids);
}

static void write_usage(json_t *doc, const struct link_msg *m)
{
	json_object_set_new(doc, "requestID", json_integer(m->u.usage.request_id));
	json_t *pods = json_array();
	for (size_t i = 0; i < m->u.usage.count; i++) {
		const struct link_pod_usage *p = &m->u.usage.pods[i];
		json_t *pod = json_object();
		put_msg_name(pod, "uid", p->pod_uid);
		json_object_set_new(pod, "cpuMillicores", json_integer(p->cpu_millicores));
		json_object_set_new(pod, "memoryBytes", json_integer(p->memory_bytes));
		json_array_append_new(pods, pod);
	}
	json_object_set_new(doc, "pods", pods);
}

static void write_grant(json_t *doc, const struct link_msg *m)
{
	put_msg_name(doc, "jobID", m->job_id);
	put_msg_name(doc, "name", m->u.upload_grant.report_name);
	put_msg_text(doc, "url", m->u.upload_grant.url, LINK_TEXT_URL);
	put_msg_text(doc, "contentType", m->u.upload_grant.content_type, LINK_TEXT_NAME);
	put_msg_int(doc, "expirationTime", m->u.upload_grant.expires_wall_ms);
	if (m->u.upload_grant.place != LINK_PLACE_UNKNOWN)
		json_object_set_new(doc, "ownStore", json_boolean(m->u.upload_grant.place == LINK_PLACE_OWN_STORE));
}

static void write_denied(json_t *doc, const struct link_msg *m)
{
	put_msg_name(doc, "jobID", m->job_id);
	put_msg_name(doc, "name", m->u.upload_denied.report_name);
	put_msg_text(doc, "reason", m->u.upload_denied.reason, LINK_TEXT_REASON);
	put_msg_text(doc, "message", m->u.upload_denied.message, LINK_TEXT_MESSAGE);
	json_object_set_new(doc, "retry", json_boolean(m->u.upload_denied.retry));
}

void link_msg_write_body(json_t *doc, const struct link_msg *m)
{
	switch (m->type) {
	case LINK_MSG_HELLO:
		write_hello(doc, m);
		break;
	case LINK_MSG_TOKEN:
		put_msg_text(doc, "token", m->u.token.token, LINK_TEXT_TOKEN);
		break;
	case LINK_MSG_JOB:
		write_job(doc, &m->u.job);
		break;
	case LINK_MSG_UPLOAD_REQUEST:
		put_msg_name(doc, "jobID", m->job_id);
		json_object_set_new(doc, "report", write_report(&m->u.upload_request.report));
		break;
	case LINK_MSG_ORDER:
		write_order(doc, &m->u.order);
		break;
	case LINK_MSG_CANCEL:
	case LINK_MSG_FORGET:
		put_msg_name(doc, "jobID", m->job_id);
		break;
	case LINK_MSG_UPLOAD_GRANT:
		write_grant(doc, m);
		break;
	case LINK_MSG_UPLOAD_DENIED:
		write_denied(doc, m);
		break;
	case LINK_MSG_USAGE_QUERY:
		write_usage_query(doc, m);
		break;
	case LINK_MSG_USAGE:
		write_usage(doc, m);
		break;
	case LINK_MSG_OBSERVE:
		json_object_set_new(doc, "validSeconds", json_integer(m->u.observe.valid_seconds));
		json_object_set_new(doc, "items", link_observations_to_json(m->u.observe.items, m->u.observe.count));
		break;
	case LINK_MSG_OBSERVED:
		json_object_set_new(doc, "items", link_observed_to_json(m->u.observed.items, m->u.observed.count));
		break;
	case LINK_MSG_PROCESS_QUERY:
		link_process_query_write(doc, &m->u.process_query);
		break;
	case LINK_MSG_AWAIT_STARTS:
		link_await_starts_write(doc, &m->u.await_starts);
		break;
	case LINK_MSG_STARTED:
		put_msg_name(doc, "podUID", m->u.started.pod_uid);
		put_msg_name(doc, "containerID", m->u.started.container_id);
		break;
	case LINK_MSG_PROCESSES:
		link_processes_write(doc, &m->u.processes);
		break;
	case LINK_MSG_LEADER:
	case LINK_MSG_JOBS_COMPLETE:
	case LINK_MSG_UNKNOWN:
		break;
	}
}
