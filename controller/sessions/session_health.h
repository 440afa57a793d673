/* How the workloads are: what the newest session of each profiler found in them, as the metric drdotnet_finding_score. Any thread. */
#ifndef DRDOTNET_SESSION_HEALTH_H
#define DRDOTNET_SESSION_HEALTH_H

#include "controller/sessions/session_index.h"

void session_health_measure(struct session_index *x);

/* The next of a summary's findings ("MemoryLeak:87 NoMemoryLimit?40"): its id, whether only one witness speaks for it, and its score. Gives where the next
 * one begins; NULL: there is none. Pure. */
const char *session_health_next(const char *findings, char id[48], bool *possible, int *score);

#endif
