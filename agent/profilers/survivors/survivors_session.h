/* The GCSurvivors profiler: one look at the heap, then it is done. See agent/session/attached_session.h. */
#ifndef DRDOTNET_SURVIVORS_SESSION_H
#define DRDOTNET_SURVIVORS_SESSION_H

#include "agent/session/attached_session.h"

extern const struct session_profiler survivors_session;

#endif
