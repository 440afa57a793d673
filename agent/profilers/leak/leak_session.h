/* MemoryLeak: two or more heap walks over a session, and what grew between them. See agent/session/attached_session.h. */
#ifndef DRDOTNET_LEAK_SESSION_H
#define DRDOTNET_LEAK_SESSION_H

#include "agent/session/attached_session.h"

extern const struct session_profiler leak_session;

#endif
