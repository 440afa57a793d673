/* What a session's document says of it. Pure; any thread. */
#ifndef DRDOTNET_REST_SESSIONS_H
#define DRDOTNET_REST_SESSIONS_H

#include <jansson.h>
#include <stdbool.h>

bool rest_session_completed(const json_t *session);

#endif
