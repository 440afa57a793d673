/* The Exceptions profiler: see session_run(). */
#ifndef DRDOTNET_EXCEPTION_SESSION_H
#define DRDOTNET_EXCEPTION_SESSION_H

#include "agent/session/attached_session.h"

extern const struct session_profiler exception_session;

#endif
