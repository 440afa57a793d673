/* The events of the REST API: who follows a session is told of its changes. */
#ifndef DRDOTNET_REST_EVENTS_H
#define DRDOTNET_REST_EVENTS_H

#include "common/rest/rest_api.h"

/* Any thread, never blocks: the session is new, another or gone. Whoever follows its events gets it by session_get. Call it whenever what
 * session_get answers may have changed. */
void rest_api_session_changed(struct rest_api *api, const char *namespace, const char *name);

#endif
