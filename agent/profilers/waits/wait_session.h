/* The session of the Waits profiler: context switches with stacks from outside, names from the library. */
#ifndef DRDOTNET_WAIT_SESSION_H
#define DRDOTNET_WAIT_SESSION_H

#include "agent/session/attached_session.h"

extern const struct session_profiler wait_session;

#endif
