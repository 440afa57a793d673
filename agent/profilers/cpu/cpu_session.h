/* The CPUHotpaths profiler: perf events on the process, else timers in it, with names from the library. */
#ifndef DRDOTNET_CPU_SESSION_H
#define DRDOTNET_CPU_SESSION_H

#include "agent/session/attached_session.h"

extern const struct session_profiler cpu_session;

#endif
