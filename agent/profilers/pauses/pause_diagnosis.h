/* What a doctor would say of the runtime's pauses: some lines, the first stands alone. Pure; one thread. */
#ifndef DRDOTNET_PAUSE_DIAGNOSIS_H
#define DRDOTNET_PAUSE_DIAGNOSIS_H

#include "agent/profilers/pauses/pause_numbers.h"

enum pause_finding {
	PAUSES_NONE,
	PAUSES_FEW,         /* nobody feels them */
	PAUSES_INDUCED,     /* code asked for collections */
	PAUSES_SUSPENSION,  /* threads could not be stopped quickly */
	PAUSES_GENERATION2,
	PAUSES_ALLOCATION,  /* the young generations */
	PAUSES_OTHER,       /* no collections */
	PAUSES_LIMIT,       /* collections of a heap at its limit */
	PAUSES_LARGE,       /* collections for large objects */
	PAUSES_THROTTLED,   /* the CPU quota is used up */
	PAUSES_STARVED,     /* the node has no free CPU */
	PAUSES_HEAPS,       /* Server GC has more heaps than CPUs */
	PAUSES_BACKGROUND,  /* the phases of collections in the background that stop the application */
};

struct pause_diagnosis {
	enum pause_finding finding;
	char *method;   /* to look at first; NULL: none */
	char *headline; /* <= HEADLINE_MAX_CHARS characters */
	char *text;     /* <= DIAGNOSIS_MAX_BYTES; lines; the first is the headline */
	struct pause_numbers numbers;
	struct findings findings; /* of them; the first one is the headline's. Borrows from numbers: the struct stays where it is */
};

void pause_diagnosis_make(const struct pause_analysis *a, struct pause_diagnosis *out);
void pause_diagnosis_fini(struct pause_diagnosis *d);

#endif
