/* The status of a ProfilingSession: conditions computed from its pods' jobs in one place, and their JSON. Pure: the time
 * is an argument. */
#ifndef DRDOTNET_SESSION_STATUS_H
#define DRDOTNET_SESSION_STATUS_H

#include "controller/sessions/session_object.h"

/* Sets a condition; its transition time moves only when the status changes. `reason` has static storage. */
void session_status_set(struct profiling_session *s, enum condition_type type, enum condition_status status, const char *reason,
			const char *message, int64_t now_wall_ms);

/* Accepted=True and the session waits for pods or agents for this reason; its remedy is added to the message. */
void session_status_wait(struct profiling_session *s, const char *reason, const char *message, int64_t now_wall_ms);

/* The session ends without any pod: Accepted as told, Succeeded=False, Completed=True. */
void session_status_end(struct profiling_session *s, bool accepted, const char *reason, const char *message, int64_t now_wall_ms);

/* Conditions, times and counts from the pods' jobs: progress while one of them is not final, else the session's end.
 * Returns true when the session has just ended by this. */
bool session_status_conclude(struct profiling_session *s, int64_t now_wall_ms);

/* Of a session that has ended well: one more sentence of it. */
void session_status_add(struct profiling_session *s, const char *sentence, int64_t now_wall_ms);

/* "Pending", "Profiling", "Succeeded", "Failed", "Canceled", ...: the STATE column. */
const char *session_status_state(const struct profiling_session *s);

/* Pods that ended in this phase. */
int64_t session_status_count(const struct profiling_session *s, enum job_phase phase);

/* The place of a delivered report without signature, or NULL; a new string. */
typedef char *session_report_url_fn(void *ctx, const struct profiling_session *s, const struct session_pod *pod, const struct link_report *r);

/* The whole status. Agents' texts are cut to the schema's bounds and control characters are made visible. */
json_t *session_status_to_json(const struct profiling_session *s, session_report_url_fn *url, void *url_ctx);

/* The server-side apply document that carries the status; it fails with a conflict when the object has changed since. */
json_t *session_status_apply(const struct profiling_session *s, json_t *status_take);

#endif
