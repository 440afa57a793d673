/* What a heap's figures come to: which finding, which holder, what it mainly has. Pure; any thread. */
#ifndef DRDOTNET_SURVIVORS_FINDING_H
#define DRDOTNET_SURVIVORS_FINDING_H

#include "agent/profilers/survivors/survivors_diagnosis.h"

/* Sets finding, holder, path, type and count; the texts stay as they are. */
void survivors_finding_decide(const struct survivors *s, struct survivors_diagnosis *d);

double survivors_finding_free_percent(const struct survivors *s); /* free space of all that the heap takes */
uint64_t survivors_finding_shallow(const struct survivors_group *t); /* bytes of all objects of a type, held or not */
const struct survivors_group *survivors_finding_largest_type(const struct survivors *s); /* by these; NULL: there is none */
uint64_t survivors_finding_retained(const struct survivors *s, const struct survivors_holder *h); /* NULL: 0 */

#endif
