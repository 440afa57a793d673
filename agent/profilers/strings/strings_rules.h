/* What copies of strings cost, and where they come from, as rules. docs/diseases.md explains each. Pure; any thread. */
#ifndef DRDOTNET_STRINGS_RULES_H
#define DRDOTNET_STRINGS_RULES_H

#include "agent/profilers/strings/strings_numbers.h"

extern const struct rule strings_rules[];
extern const size_t strings_rules_count;

bool strings_rules_costly(const struct strings_numbers *n); /* copies are worth a finding */
/* "Duplicate strings waste 400 kB (55% of the heap)", and what follows; also where they cost little. */
void strings_rules_put_cost(const struct strings_numbers *n, const char *verb, struct buf *line);

#endif
