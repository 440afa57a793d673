/* The CPUHotpaths profiler: one session on one process, in the calling thread (see session_run). */
#ifndef DRDOTNET_CPU_SESSION_H
#define DRDOTNET_CPU_SESSION_H

#include "agent/session.h"

void cpu_session_run(const struct session_request *q, struct session_outcome *out);

#endif
