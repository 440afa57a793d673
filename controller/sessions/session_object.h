/* A ProfilingSession as the controller knows it: metadata, typed spec and the status that it wrote itself. Read from the
 * API server's JSON; the status is written back by session_status.h. Pure; one thread at a time. */
#ifndef DRDOTNET_SESSION_OBJECT_H
#define DRDOTNET_SESSION_OBJECT_H

#include "common/api/session_spec.h"
#include "common/base/jsonx.h"
#include "common/link/link_msg.h"
#include "controller/kube/workload.h"

#define SESSION_MAX_TARGETS 20
#define SESSION_MAX_ATTEMPTS 1000 /* at the start of a container: more are not waited for */
#define SESSION_KEY_SIZE (64 + 254 + 1)

enum condition_status { CONDITION_ABSENT, CONDITION_UNKNOWN, CONDITION_TRUE, CONDITION_FALSE };

enum condition_type { CONDITION_ACCEPTED, CONDITION_RUNNING, CONDITION_SUCCEEDED, CONDITION_COMPLETED, CONDITION_COUNT };
const char *condition_type_name(enum condition_type type);

struct condition {
	enum condition_status status;
	const char *reason; /* static storage (reason.h) */
	char *message;      /* owned, may be NULL */
	int64_t since_wall_ms;
	int64_t observed_generation;
};

/* One pod of the session. `job` holds what its agent last said (job.job_id was assigned by us and names the session). */
struct session_pod {
	char pod_name[254], pod_uid[40], node[254];
	char workload[WORKLOAD_TEXT_SIZE]; /* "Deployment/checkout"; "": not known */
	bool reported; /* the agent has spoken of the job at least once; before, the phase shown is Pending */
	struct link_job job;
};

struct profiling_session {
	char namespace[64], name[254], uid[40], resource_version[64];
	int64_t generation;
	int64_t created_wall_ms;
	bool of_trigger;         /* a ProfilingTrigger made it */
	char *requested_by;      /* as the annotation says; owned, may be NULL */
	int64_t deleted_wall_ms; /* deletionTimestamp; 0: not being deleted */
	char **finalizers;       /* all of them, ours included */
	size_t finalizer_count;
	bool spec_valid;
	struct session_spec spec; /* when valid */
	char *spec_error;         /* otherwise */

	/* status */
	struct condition conditions[CONDITION_COUNT];
	int64_t started_wall_ms, completed_wall_ms; /* 0: not yet */
	int64_t pods_matched;
	char *comparison; /* with spec.baselineSession, or why there is none; owned, NULL: not (yet) */
	struct session_pod *pods;
	size_t pod_count;
	uint64_t status_hash; /* of the status as the API server has it: tells whether a write would change anything */
};

/* An object that lacks what every object has (name, uid, resourceVersion) is ERR_PROTOCOL. An invalid spec is no error:
 * spec_valid is false and spec_error says why. A status that somebody else spoiled is read as far as it makes sense. */
int session_object_from_json(const json_t *object, struct profiling_session *out, struct err *e);
void session_object_fini(struct profiling_session *s);
void session_object_drop_pods(struct profiling_session *s);
void session_object_copy(struct profiling_session *out, const struct profiling_session *from);

/* "<namespace>/<name>" */
void session_object_key(const struct profiling_session *s, char out[SESSION_KEY_SIZE]);

bool session_object_completed(const struct profiling_session *s);
bool session_object_has_finalizer(const struct profiling_session *s);
bool session_object_deleting(const struct profiling_session *s);

/* It has no pod: none has been chosen, or the start of the container that was (spec.start: NextContainerStart) was missed, so that it waits for the next
 * one; the pod that it had stays in its status until then. */
bool session_object_unassigned(const struct profiling_session *s);

/* Job ids name their session: "<session uid>-<index>"; after missed starts, "<session uid>-<index>.<attempt>" with the number of those: an agent takes no
 * second order of an id that it was told to forget. */
void session_job_id(const char *session_uid, size_t index, size_t attempt, char out[LINK_ID_SIZE]);
int session_job_id_parse(const char *job_id, char session_uid[40], size_t *index, size_t *attempt); /* attempt: or NULL */

/* Both are of one pod of a session, and this one has missed its start before the other was ordered. */
bool session_job_is_earlier(const char *job_id, const char *other);

/* Where a pod's reports go in a store: "<namespace>/<session name>-<first 8 of its uid>/<pod>/". Names of more than SESSION_KEY_NAME_MAX bytes are
 * cut and end in '_' (no name of Kubernetes has one) and their own hash, so that each part fits into a file's name and no two meet. */
#define SESSION_KEY_NAME_MAX 200
int session_report_prefix(const char *namespace, const char *name, const char *uid, const char *pod, char *out, size_t size, struct err *e);

/* A hash of a JSON value that does not depend on the order of keys. */
uint64_t session_json_hash(const json_t *value);

#endif
