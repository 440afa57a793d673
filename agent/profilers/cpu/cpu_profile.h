/* A CPU profile in the forms of other tools, by the writers that all profiles share. One thread; failures are kept in the file. */
#ifndef DRDOTNET_CPU_PROFILE_H
#define DRDOTNET_CPU_PROFILE_H

#include "agent/report/report_file.h"
#include "agent/profilers/cpu/report_source.h"

/* The analysis as the writers want it; borrows from it and the texts. */
void cpu_profile_make(const struct cpu_analysis *a, const char *subject, const char *headline, struct stack_profile *out);

/* `source` is a struct report_source. */
void cpu_profile_pprof(const void *source, struct report_file *f);
void cpu_profile_folded(const void *source, struct report_file *f);
void cpu_profile_speedscope(const void *source, struct report_file *f); /* in the order of time */

#endif
