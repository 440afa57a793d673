/* What a doctor would say of a profile of exceptions: some lines, the first stands alone, with a remedy for what is found. Nothing of a message's text is in
 * it, not even where the session may reveal: the diagnosis goes into the resource's status. Pure; one thread. */
#ifndef DRDOTNET_EXCEPTION_DIAGNOSIS_H
#define DRDOTNET_EXCEPTION_DIAGNOSIS_H

#include "agent/profilers/exceptions/exception_numbers.h"

struct exception_diagnosis {
	const char *finding; /* the id of the finding that leads, or "none"; borrowed from findings */
	const struct exception_sum *main; /* of the analysis: to look at first; NULL */
	char *headline, *text;
	struct exception_numbers numbers;
	struct findings findings; /* of them; the first one is the headline's. Borrows from numbers: the struct stays where it is */
};

void exception_diagnosis_make(const struct exception_analysis *a, struct exception_diagnosis *out);
void exception_diagnosis_fini(struct exception_diagnosis *d);

#endif
