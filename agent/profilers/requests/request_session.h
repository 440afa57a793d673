/* The SlowRequests profiler as a session. */
#ifndef DRDOTNET_REQUEST_SESSION_H
#define DRDOTNET_REQUEST_SESSION_H

#include "agent/session/attached_session.h"

extern const struct session_profiler request_session;

#endif
