/* What a doctor would say of a profile of allocations: some lines, the first stands alone, with a remedy for what is found. Pure; one
 * thread. */
#ifndef DRDOTNET_ALLOC_DIAGNOSIS_H
#define DRDOTNET_ALLOC_DIAGNOSIS_H

#include "agent/profilers/allocs/alloc_numbers.h"

struct alloc_diagnosis {
	const char *finding; /* findings_lead_id() */
	uint32_t method; /* to look at first; CPU_NO_METHOD */
	uint32_t type;   /* the same; UINT32_MAX: none */
	char *headline, *text;
	struct alloc_numbers numbers;
	struct findings findings; /* of them; the first one is the headline's. Borrows from numbers: the struct stays where it is */
};

void alloc_diagnosis_make(const struct alloc_analysis *a, struct alloc_diagnosis *out);
void alloc_diagnosis_fini(struct alloc_diagnosis *d);

/* What can be done about a type, or NULL. Static. */
const char *alloc_remedy(const char *type);

/* "412 MB/s" */
void alloc_phrase_rate(struct buf *out, const struct alloc_analysis *a, double bytes);

#endif
