/* What a heap's figures come to: which finding, which holder, what it mainly has. Pure; any thread. */
#ifndef DRDOTNET_SURVIVORS_FINDING_H
#define DRDOTNET_SURVIVORS_FINDING_H

#include "agent/profilers/survivors/survivors_diagnosis.h"
#include "agent/profilers/survivors/survivors_numbers.h"

/* Who would be looked at first for a finding: holder, keeper, path, type and count; all else of *d is zeroed. *d stays where it is. */
void survivors_finding_look(const struct survivors *s, enum survivors_finding f, struct survivors_diagnosis *d);
/* The same for the finding that the rules made. */
void survivors_finding_decide(const struct survivors *s, const struct survivors_numbers *n, const struct findings *found, struct survivors_diagnosis *d);

double survivors_finding_free_percent(const struct survivors *s); /* free space of all that the heap takes */
uint64_t survivors_finding_shallow(const struct survivors_group *t); /* bytes of all objects of a type, held or not */
const struct survivors_group *survivors_finding_largest_type(const struct survivors *s); /* by these; NULL: there is none */
uint64_t survivors_finding_retained(const struct survivors *s, const struct survivors_holder *h); /* NULL: 0 */

#endif
