/* A local session as the REST API shows it: the fields of the ProfilingSession resource, as the controller would fill them. Pure. */
#ifndef DRDOTNET_SERVE_DOCUMENT_H
#define DRDOTNET_SERVE_DOCUMENT_H

#include "common/api/session_spec.h"
#include "common/base/jsonx.h"
#include "common/link/link_msg.h"

#define SERVE_NAMESPACE "local"

/* What is known of a session; what is not known yet is zero. */
struct serve_facts {
	const char *name, *uid;
	const json_t *spec;            /* as it was asked for */
	const struct session_spec *effective;
	int64_t created_wall_ms, started_wall_ms, first_sample_wall_ms, completed_wall_ms;
	enum job_phase phase;
	const char *reason;            /* at the end */
	const char *message;           /* what it is doing, or why it failed */
	const char *headline, *diagnosis;
	const struct finding *findings;
	size_t finding_count;
	const char *comparison;        /* with spec.baselineSession, or why there is none */
	const struct session_cost *cost;
	const struct link_report *reports;
	size_t report_count;
	/* of the process, once it is chosen */
	const char *pod_name, *entrypoint, *runtime_version;
	int64_t pid;
};

/* A Session: {id, namespace, name, uid, profiler, target, state, headline?, createdAt, completedAt?, requestedBy, spec, status}. */
json_t *serve_document_make(const struct serve_facts *f);

/* The same without spec and status. */
json_t *serve_document_summary(const json_t *session);

/* Is this a session's document that could have been made here, of a session of this name? For what is read from files. */
bool serve_document_is_good(const json_t *session, const char *name);

/* A session that its program's end has interrupted: failed, and completed now. */
void serve_document_interrupt(json_t *session, int64_t now_wall_ms);

/* "Checkout" and 1234 to "checkout-1234": a name that may stand in paths, as a pod's name does elsewhere. */
void serve_document_pod_name(const char *entrypoint, int64_t pid, char out[64]);

#endif
