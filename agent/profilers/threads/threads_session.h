/* The session of the Threads profiler: two looks from outside, stacks of sleeping threads at the second one, samples of CPUs for those that never sleep. */
#ifndef DRDOTNET_THREADS_SESSION_H
#define DRDOTNET_THREADS_SESSION_H

#include "agent/session/attached_session.h"

extern const struct session_profiler threads_session;

#endif
