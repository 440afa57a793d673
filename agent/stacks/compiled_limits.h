/* What a report lacks of an application that was compiled ahead of time (Native AOT), whose methods are named by the symbols of its file. Pure. */
#ifndef DRDOTNET_COMPILED_LIMITS_H
#define DRDOTNET_COMPILED_LIMITS_H

#include "agent/report/limits.h"
#include "agent/stacks/capture.h"

/* `reason`: why there is no library in the process (common/api/reason.h); of others nothing is noted. */
void compiled_limits_note(const char *reason, const struct cpu_capture *c, struct limits *l);

#endif
