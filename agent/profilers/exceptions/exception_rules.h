/* The verdicts of Exceptions: docs/diseases.md has a section for each. */
#ifndef DRDOTNET_EXCEPTION_RULES_H
#define DRDOTNET_EXCEPTION_RULES_H

#include "agent/profilers/exceptions/exception_numbers.h"

extern const struct rule exception_rules[];
extern const size_t exception_rule_count;

/* Whether the text below the headline `lead` has what `x` says: the type, its place and what throwing costs. */
bool exception_rules_repeat(const struct finding *lead, const struct finding *x);

/* "12,300", "3.3", "0.05"; the rate of all new ones: "at least 12,300" where a part of the time was watched. */
void exception_put_number(struct buf *out, double per_second);
void exception_put_rate(struct buf *out, const struct exception_numbers *n);

#endif
