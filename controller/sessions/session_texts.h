/* The texts of a session that the index keeps and a list shows. Pure; any thread. */
#ifndef DRDOTNET_SESSION_TEXTS_H
#define DRDOTNET_SESSION_TEXTS_H

#include "common/base/jsonx.h"

#include <stddef.h>

#define SESSION_FINDINGS_TEXT 240

/* In the order in which an entry has them: first the two of its key, then those that a search looks at. */
enum session_text {
	SESSION_NAMESPACE,
	SESSION_NAME,
	SESSION_TARGET,
	SESSION_STATE,
	SESSION_HEADLINE,
	SESSION_REQUESTER,
	SESSION_UID,
	SESSION_PROFILER,
	SESSION_TRIGGER,
	SESSION_WORKLOAD,
	SESSION_FINDINGS,
	SESSION_TEXTS
};

extern const size_t session_text_max[SESSION_TEXTS]; /* bytes: bounds of what others wrote; the API server's own are below them */

/* Borrowed from the object and from `findings`; "" for what is not there. */
void session_texts_read(const json_t *object, const char *out[SESSION_TEXTS], char findings[SESSION_FINDINGS_TEXT]);

#endif
