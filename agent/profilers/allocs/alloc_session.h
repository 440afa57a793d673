/* The Allocations profiler: see session_run(). */
#ifndef DRDOTNET_ALLOC_SESSION_H
#define DRDOTNET_ALLOC_SESSION_H

#include "agent/session/attached_session.h"

extern const struct session_profiler alloc_session;

#endif
