/* What a session is compared with (spec.baselineSession): may it be, and which reports of the two. Pure. */
#ifndef DRDOTNET_BASELINE_H
#define DRDOTNET_BASELINE_H

#include "controller/sessions/session_object.h"

#define BASELINE_REPORT "report.json"

/* Why `baseline` (NULL: there is none) cannot be what `s` is compared with, as a new string; NULL: it can. */
char *baseline_unusable(const struct profiling_session *s, const struct profiling_session *baseline);

/* The pod whose report is compared: the one of this name (NULL: any) when its report is delivered, else the first that has one; and its report.
 * NULL: none has. */
const struct session_pod *baseline_pod(const struct profiling_session *s, const char *name, const struct link_report **report);

#endif
