/* The verdicts of Allocations: docs/diseases.md has a section for each. */
#ifndef DRDOTNET_ALLOC_RULES_H
#define DRDOTNET_ALLOC_RULES_H

#include "agent/profilers/allocs/alloc_numbers.h"

extern const struct rule alloc_rules[];
extern const size_t alloc_rule_count;

/* Less than a megabyte a second: nothing to speak of, whoever allocates it. */
bool alloc_rules_idle(const struct alloc_numbers *n);

#endif
