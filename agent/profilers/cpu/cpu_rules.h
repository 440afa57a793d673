/* The illnesses that CPUHotpaths knows; docs/diseases.md has a section for each. Pure. */
#ifndef DRDOTNET_CPU_RULES_H
#define DRDOTNET_CPU_RULES_H

#include "agent/profilers/cpu/cpu_numbers.h"

#include <stddef.h>

#define CPU_IDLE 0.02        /* CPUs: a process that uses less is idle */
#define CPU_IDLE_BESIDE 0.05 /* CPUs: one that uses less, and of what it may use less than that part */
#define CPU_IDLE_PART 0.1
#define CPU_RULE_COUNT 21
extern const struct rule cpu_rules[CPU_RULE_COUNT];
extern const struct rule_engines cpu_engines[]; /* of what timers in the process sampled */

/* Whether a process that uses so much is idle; `cpus_allowed`: that it may use, NAN: not known. */
bool cpu_rules_uses_little(double cpus_used, double cpus_allowed);
/* No method of the application stands out, and none has most below it: one of .NET's libraries does. */
bool cpu_rules_in_library(const struct cpu_numbers *n);
/* Of the time in which its threads could run, how much they waited for a CPU; percent. */
double cpu_rules_waiting(const struct cpu_numbers *n);

#endif
