/* What can be done about a finding: each advice is checked against the process's own settings and its container before it is given, names the exact
 * setting, and says what to expect of it. Pure; one thread. */
#ifndef DRDOTNET_PAUSE_ADVICE_H
#define DRDOTNET_PAUSE_ADVICE_H

#include "agent/profilers/pauses/pause_diagnosis.h"

/* Appends one line, with its line feed before it; nothing where there is nothing to advise. */
void pause_advice_put(const struct pause_analysis *a, enum pause_finding f, struct buf *out);

/* Appends a line each for a used-up CPU quota and for a node without a free CPU, where there was that. */
void pause_advice_put_starved(const struct pause_analysis *a, struct buf *out);

/* Percent of the quota's periods in which it was used up; of the time that the process's threads were ready to run, how much they waited for a CPU.
 * -1: not known. */
double pause_throttled_percent(const struct pause_capture *c);
double pause_delay_percent(const struct pause_capture *c);

/* The heap's own limit in bytes, as it is set; -1: it has none, or not one that is known. */
int64_t pause_hard_limit(const struct pause_capture *c);

/* CPUs that it may use: of its limit, rounded up as the runtime does, else of the node. -1: not known. */
int64_t pause_cpus(const struct pause_capture *c);

#endif
