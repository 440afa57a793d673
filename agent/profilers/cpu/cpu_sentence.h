/* What the rules of CPUHotpaths say: a sentence that fits into a headline, the numbers behind it, the method that it is about. Part of cpu_rules.c; all are
 * `says` of struct rule. Pure. */
#ifndef DRDOTNET_CPU_SENTENCE_H
#define DRDOTNET_CPU_SENTENCE_H

#include "agent/profilers/cpu/cpu_numbers.h"

void cpu_says_idle(const void *numbers, struct finding *f);
void cpu_says_no_samples(const void *numbers, struct finding *f);
void cpu_says_few_samples(const void *numbers, struct finding *f);
void cpu_says_spinning(const void *numbers, struct finding *f);
void cpu_says_backtracking(const void *numbers, struct finding *f);
void cpu_says_dictionary(const void *numbers, struct finding *f);
void cpu_says_hot(const void *numbers, struct finding *f);
void cpu_says_collecting(const void *numbers, struct finding *f);
void cpu_says_warming_up(const void *numbers, struct finding *f);
void cpu_says_compiling(const void *numbers, struct finding *f);
void cpu_says_throwing(const void *numbers, struct finding *f);
void cpu_says_kernel(const void *numbers, struct finding *f);
void cpu_says_runtime(const void *numbers, struct finding *f);
void cpu_says_scheduling(const void *numbers, struct finding *f);
void cpu_says_running(const void *numbers, struct finding *f);
void cpu_says_throttled(const void *numbers, struct finding *f);
void cpu_says_node_full(const void *numbers, struct finding *f);
void cpu_says_heaps(const void *numbers, struct finding *f);
void cpu_says_observed(const void *numbers, struct finding *f);
void cpu_says_spread(const void *numbers, struct finding *f);

#endif
