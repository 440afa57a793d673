/* The table of profilers, and the one way to run a session of any of them. */
#ifndef DRDOTNET_PROFILERS_H
#define DRDOTNET_PROFILERS_H

#include "agent/session/session.h"

/* session_run() with the profiler that the request's spec names. */
void profilers_run(const struct session_request *q, struct session_outcome *out);

/* What that profiler can do without (enum target_without). */
unsigned profilers_work_without(enum profiler_kind kind);

#endif
