#include "common/link/link_msg.h"

#include "common/base/mem.h"
#include "common/link/link_msg_private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {
	[LINK_MSG_HELLO] = "hello",
	[LINK_MSG_TOKEN] = "token",
	[LINK_MSG_JOB] = "job",
	[LINK_MSG_UPLOAD_REQUEST] = "uploadRequest",
	[LINK_MSG_USAGE] = "usage",
	[LINK_MSG_OBSERVED] = "observed",
	[LINK_MSG_PROCESSES] = "processes",
	[LINK_MSG_STARTED] = "started",
	[LINK_MSG_JOBS_COMPLETE] = "jobsComplete",
	[LINK_MSG_LEADER] = "leader",
	[LINK_MSG_ORDER] = "order",
	[LINK_MSG_CANCEL] = "cancel",
	[LINK_MSG_FORGET] = "forget",
	[LINK_MSG_UPLOAD_GRANT] = "uploadGrant",
	[LINK_MSG_UPLOAD_DENIED] = "uploadDenied",
	[LINK_MSG_USAGE_QUERY] = "usageQuery",
	[LINK_MSG_OBSERVE] = "observe",
	[LINK_MSG_PROCESS_QUERY] = "processQuery",
	[LINK_MSG_AWAIT_STARTS] = "awaitStarts",
};
#define TYPE_COUNT ((int)(sizeof type_names / sizeof *type_names))

static const char *const phase_names[] = {
	[JOB_QUEUED] = "Queued",	 [JOB_PREPARING] = "Preparing",	  [JOB_PROFILING] = "Profiling",
	[JOB_ANALYZING] = "Analyzing",	 [JOB_DELIVERING] = "Delivering", [JOB_SUCCEEDED] = "Succeeded",
	[JOB_FAILED] = "Failed",	 [JOB_CANCELED] = "Canceled",
};
#define PHASE_COUNT ((int)(sizeof phase_names / sizeof *phase_names))

const char *job_phase_name(enum job_phase phase)
{
	return (int)phase >= 0 && (int)phase < PHASE_COUNT ? phase_names[phase] : "Unknown";
}

int job_phase_parse(const char *name, enum job_phase *out)
{
	for (int i = 0; i < PHASE_COUNT; i++) {
		if (strcmp(name, phase_names[i]) == 0) {
			*out = (enum job_phase)i;
			return 0;
		}
	}
	return -1;
}

bool link_msg_is_name(const char *s)
{
	if (!isalnum((unsigned char)s[0]))
		return false;
	for (; *s; s++) {
		if (!isalnum((unsigned char)*s) && !strchr("._-", *s))
			return false;
	}
	return true;
}

void link_job_fini(struct link_job *j)
{
	if (!j)
		return;
	free(j->reason);
	free(j->message);
	free(j->container);
	free(j->container_id);
	free(j->runtime_version);
	free(j->headline);
	free(j->diagnosis);
	free(j->findings);
	free(j->session_namespace);
	free(j->session_name);
	*j = (struct link_job){0};
}

void link_job_copy(struct link_job *out, const struct link_job *from)
{
	*out = *from;
	out->reason = mem_strdup(from->reason);
	out->message = mem_strdup(from->message);
	out->container = mem_strdup(from->container);
	out->container_id = mem_strdup(from->container_id);
	out->session_namespace = mem_strdup(from->session_namespace);
	out->session_name = mem_strdup(from->session_name);
	out->runtime_version = mem_strdup(from->runtime_version);
	out->headline = mem_strdup(from->headline);
	out->diagnosis = mem_strdup(from->diagnosis);
	out->findings = findings_copy(from->findings, from->finding_count);
}

static void hello_fini(struct link_msg *m)
{
	for (size_t i = 0; i < m->u.hello.job_count; i++)
		link_job_fini(&m->u.hello.jobs[i]);
	free(m->u.hello.jobs);
}

void link_msg_fini(struct link_msg *m)
{
	if (!m)
		return;
	switch (m->type) {
	case LINK_MSG_HELLO:
		hello_fini(m);
		break;
	case LINK_MSG_TOKEN:
		free(m->u.token.token);
		break;
	case LINK_MSG_JOB:
		link_job_fini(&m->u.job);
		break;
	case LINK_MSG_ORDER:
		session_spec_fini(&m->u.order.spec);
		break;
	case LINK_MSG_UPLOAD_GRANT:
		free(m->u.upload_grant.url);
		free(m->u.upload_grant.content_type);
		break;
	case LINK_MSG_UPLOAD_DENIED:
		free(m->u.upload_denied.reason);
		free(m->u.upload_denied.message);
		break;
	case LINK_MSG_USAGE_QUERY:
		free(m->u.usage_query.pod_uids);
		break;
	case LINK_MSG_USAGE:
		free(m->u.usage.pods);
		break;
	case LINK_MSG_OBSERVE:
		free(m->u.observe.items);
		break;
	case LINK_MSG_OBSERVED:
		free(m->u.observed.items);
		break;
	case LINK_MSG_PROCESS_QUERY:
		free(m->u.process_query.pods);
		break;
	case LINK_MSG_AWAIT_STARTS:
		free(m->u.await_starts.pods);
		break;
	case LINK_MSG_PROCESSES:
		link_processes_free(m->u.processes.items, m->u.processes.count);
		break;
	default:
		break;
	}
	*m = (struct link_msg){0};
}

static enum link_msg_type parse_type(const char *name)
{
	for (int i = LINK_MSG_HELLO; i < TYPE_COUNT; i++) {
		if (strcmp(name, type_names[i]) == 0)
			return (enum link_msg_type)i;
	}
	return LINK_MSG_UNKNOWN;
}

static bool needs_epoch(enum link_msg_type type)
{
	return type == LINK_MSG_LEADER || type == LINK_MSG_ORDER || type == LINK_MSG_CANCEL || type == LINK_MSG_FORGET || type == LINK_MSG_OBSERVE ||
	       type == LINK_MSG_AWAIT_STARTS || type == LINK_MSG_JOBS_COMPLETE;
}

static int decode_document(const json_t *doc, struct link_msg *out, struct err *e)
{
	if (!json_is_object(doc))
		return err_set(e, ERR_PROTOCOL, 0, "expected an object");
	const char *type = NULL;
	if (jsonx_string(doc, "", "type", true, &type, e) < 0)
		return -1;
	enum link_msg_type parsed = parse_type(type);
	if (parsed == LINK_MSG_UNKNOWN)
		return 0;
	out->type = parsed;
	if (jsonx_int(doc, "", "epoch", needs_epoch(parsed), 0, INT64_MAX, &out->epoch, e) < 0)
		return -1;
	return link_msg_read_body(doc, out, e);
}

int link_msg_decode(const char *text, size_t len, struct link_msg *out, struct err *e)
{
	*out = (struct link_msg){0};
	if (len > LINK_MESSAGE_MAX)
		return err_set(e, ERR_PROTOCOL, 0, "link message is larger than %d bytes", LINK_MESSAGE_MAX);
	struct err why = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse(text, len, "link message", &why);
	if (doc && decode_document(doc, out, &why) == 0)
		return 0;
	link_msg_fini(out);
	/* Whatever was wrong, it is the other side that spoke it. */
	return err_set(e, ERR_PROTOCOL, 0, "link message: %s", why.message);
}

char *link_msg_encode(const struct link_msg *m, struct err *e)
{
	if (m->type <= LINK_MSG_UNKNOWN || (int)m->type >= TYPE_COUNT) {
		err_set(e, ERR_INTERNAL, 0, "link message of type %d cannot be written", (int)m->type);
		return NULL;
	}
	AUTO_JSON json_t *doc = json_object();
	json_object_set_new(doc, "type", json_string(type_names[m->type]));
	if (m->epoch || needs_epoch(m->type))
		json_object_set_new(doc, "epoch", json_integer(m->epoch));
	link_msg_write_body(doc, m);
	return jsonx_dump(doc, LINK_MESSAGE_MAX, e);
}
