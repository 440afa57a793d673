/* The first line of a CPU diagnosis: it stands alone, in a table's column or a chat. Pure; any thread. */
#ifndef DRDOTNET_CPU_HEADLINE_H
#define DRDOTNET_CPU_HEADLINE_H

#include "agent/profilers/cpu/cpu_diagnosis.h"
#include "common/base/buf.h"

/* Appends to an empty *line, at most HEADLINE_MAX_CHARS characters. */
void cpu_headline_put(const struct cpu_analysis *a, const struct cpu_diagnosis *d, struct buf *line);

#endif
