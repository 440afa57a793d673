/* StuckTasks, one session: a look at the heap when it begins, and one when it ends. */
#ifndef DRDOTNET_STUCK_SESSION_H
#define DRDOTNET_STUCK_SESSION_H

#include "agent/session/attached_session.h"

extern const struct session_profiler stuck_session;

#endif
