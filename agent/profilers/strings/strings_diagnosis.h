/* What a doctor would say about copies of strings: what they cost, who holds them, what would help. Never a word of a string's contents,
 * not even where the session may reveal them: the diagnosis goes into the resource's status, which more people may read than reports.
 * Pure; one thread. */
#ifndef DRDOTNET_STRINGS_DIAGNOSIS_H
#define DRDOTNET_STRINGS_DIAGNOSIS_H

#include "agent/report/report.h"
#include "agent/report/rules.h"
#include "agent/profilers/strings/strings_analysis.h"

struct strings_numbers;

struct strings_diagnosis {
	const char *finding; /* findings_lead_id() */
	const struct string_holder *holder; /* to look at first; NULL: none */
	const struct strings_value *value;  /* the same */
	struct strings_numbers *numbers;    /* what the rules judged, and what they said */
	struct findings found;
	char *headline;                     /* <= HEADLINE_MAX_CHARS characters */
	char *text;                         /* <= DIAGNOSIS_MAX_BYTES; its first line is the headline */
};

void strings_diagnosis_make(const struct strings_analysis *a, struct strings_diagnosis *out);
void strings_diagnosis_fini(struct strings_diagnosis *d);

#endif
