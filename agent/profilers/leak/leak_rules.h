/* What MemoryLeak finds, excludes, or could not measure: docs/diseases.md explains each. Pure. */
#ifndef DRDOTNET_LEAK_RULES_H
#define DRDOTNET_LEAK_RULES_H

#include "agent/profilers/leak/leak_finding.h"

extern const struct rule leak_rules[];
extern const size_t leak_rule_count;

/* For what is found by its count, where no holder's remedy says it; NULL: there is none. */
const char *leak_rules_remedy(const char *id);

/* What the report is about when that rule leads. `part`: of what is held. */
enum leak_finding leak_rules_finding(const char *id, enum leak_part *part);

#endif
