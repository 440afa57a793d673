/* What a Waits report lacks, and why. Pure; any thread. */
#ifndef DRDOTNET_WAIT_LIMITS_H
#define DRDOTNET_WAIT_LIMITS_H

#include "agent/waits/wait_capture.h"
#include "agent/report/limits.h"

void wait_limits_note(const struct wait_capture *c, struct limits *l);

#endif
