/* Words and figures that the texts about samples share. All append. Pure; any thread. */
#ifndef DRDOTNET_CPU_PHRASE_H
#define DRDOTNET_CPU_PHRASE_H

#include "agent/stacks/cpu_analysis.h"
#include "agent/report/phrase.h"

void cpu_phrase_share(struct buf *out, const struct cpu_analysis *a, uint32_t samples); /* phrase_percent() of all samples */
void cpu_phrase_cpus(struct buf *out, double cpus);       /* "0.8", "0.04" */
void cpu_phrase_method(struct buf *out, const struct cpu_analysis *a, uint32_t method, size_t max_chars);

#endif
