/* What a doctor would say of a CPU profile: some lines, the first stands alone. Pure; one thread. */
#ifndef DRDOTNET_CPU_DIAGNOSIS_H
#define DRDOTNET_CPU_DIAGNOSIS_H

#include "agent/stacks/cpu_analysis.h"

enum cpu_finding {
	FINDING_IDLE,        /* hardly any CPU was used */
	FINDING_NO_SAMPLES,  /* CPU was used, but no sample came */
	FINDING_METHOD,      /* one method stands out */
	FINDING_SPREAD,      /* none does */
	FINDING_CATEGORY,    /* the runtime or the kernel does the most */
	FINDING_FEW_SAMPLES, /* far fewer samples came than were due: no verdict */
};

struct cpu_diagnosis {
	enum cpu_finding finding;
	enum cpu_category category; /* of FINDING_CATEGORY */
	uint32_t method;            /* the one to look at first; CPU_NO_METHOD */
	uint32_t method_samples;    /* what it causes: this decides; what is said of it is its total, as everywhere */
	uint32_t funnel;            /* the narrowest application method through which most passes; CPU_NO_METHOD */
	uint32_t below;             /* of FINDING_CATEGORY: the application method that causes most of it; CPU_NO_METHOD */
	double throttled_percent;   /* of the quota's periods; -1 unknown */
	char *headline;             /* <= HEADLINE_MAX_CHARS characters */
	char *text;                 /* <= DIAGNOSIS_MAX_BYTES; lines; the first is the headline */
};

void cpu_diagnosis_make(const struct cpu_analysis *a, struct cpu_diagnosis *out);
/* The process may still be warming up: it has just started, or nobody knows when. */
bool cpu_diagnosis_young(const struct cpu_analysis *a);
void cpu_diagnosis_fini(struct cpu_diagnosis *d);

#endif
