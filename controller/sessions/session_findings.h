/* What the rules found in the pods of a session: status.findings. Pure; any thread. */
#ifndef DRDOTNET_SESSION_FINDINGS_H
#define DRDOTNET_SESSION_FINDINGS_H

#include "controller/sessions/session_object.h"

#define SESSION_FINDINGS_MAX 16 /* of all pods together: those with the highest scores */

/* A new reference; NULL: nothing was found. With several pods each entry names its pod. */
json_t *session_findings_json(const struct profiling_session *s);

/* Reads them back into the pods' jobs, which have none yet. */
void session_findings_read(const json_t *list, struct profiling_session *s);

#endif
