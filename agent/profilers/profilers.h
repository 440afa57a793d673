/* The table of profilers, and the one way to run a session of any of them. */
#ifndef DRDOTNET_PROFILERS_H
#define DRDOTNET_PROFILERS_H

#include "agent/session/session.h"

/* session_run() with the profiler that the request's spec names. */
void profilers_run(const struct session_request *q, struct session_outcome *out);

/* Whether that profiler needs the library for names only, and does without where it cannot be attached. */
bool profilers_work_outside(enum profiler_kind kind);

#endif
