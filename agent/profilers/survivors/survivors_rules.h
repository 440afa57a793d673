/* What can be wrong with a heap, as rules over its numbers. docs/diseases.md explains each. Pure; any thread. */
#ifndef DRDOTNET_SURVIVORS_RULES_H
#define DRDOTNET_SURVIVORS_RULES_H

#include "agent/profilers/survivors/survivors_numbers.h"

extern const struct rule survivors_rules[];
extern const struct rule_engines survivors_engines[];
extern const size_t survivors_rules_count;

/* Where no rule finds anything: hardly anything is there; a holder may be among what was not read. */
bool survivors_rules_small(const struct survivors_numbers *n);
bool survivors_rules_unread(const struct survivors_numbers *n);

#endif
