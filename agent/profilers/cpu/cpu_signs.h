/* Signs of an illness in the stacks of a CPU profile: spinning, a match of a regular expression or an access to a dictionary that goes on and on, a method
 * that runs from the first sample to the last, the cost of an observer. Part of cpu_numbers.c. Pure; one thread. */
#ifndef DRDOTNET_CPU_SIGNS_H
#define DRDOTNET_CPU_SIGNS_H

#include "agent/profilers/cpu/cpu_numbers.h"

void cpu_signs_of(const struct cpu_analysis *a, struct cpu_numbers *out);

/* The observer (an APM or a profiler) that a module or thread of this name belongs to; NULL: none's. */
const char *cpu_signs_observer(const char *module);
const char *cpu_signs_observer_thread(const char *name);

#endif
