/* The session of the Deadlocks profiler: two looks from outside, names from the library. */
#ifndef DRDOTNET_DEADLOCK_SESSION_H
#define DRDOTNET_DEADLOCK_SESSION_H

#include "agent/session/attached_session.h"

extern const struct session_profiler deadlock_session;

#endif
