/* The verdicts of RuntimePauses: docs/diseases.md has a section for each. */
#ifndef DRDOTNET_PAUSE_RULES_H
#define DRDOTNET_PAUSE_RULES_H

#include "agent/profilers/pauses/pause_numbers.h"

extern const struct rule pause_rules[];
extern const size_t pause_rule_count;

/* So much is felt by somebody: below it nothing is found. */
bool pause_rules_noticeable(const struct pause_numbers *n);

#endif
