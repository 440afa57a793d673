/* What a doctor would say of a CPU profile: what the rules found, and some lines around it, of which the first stands alone. Pure; one thread. */
#ifndef DRDOTNET_CPU_DIAGNOSIS_H
#define DRDOTNET_CPU_DIAGNOSIS_H

#include "agent/profilers/cpu/cpu_numbers.h"

/* What the leading finding is about, for programs. */
enum cpu_finding {
	CPU_FINDING_IDLE,        /* hardly any CPU was used */
	CPU_FINDING_NO_SAMPLES,  /* CPU was used, but no sample came */
	CPU_FINDING_METHOD,      /* one method stands out */
	CPU_FINDING_SPREAD,      /* none does */
	CPU_FINDING_CATEGORY,    /* the runtime or the kernel does the most */
	CPU_FINDING_FEW_SAMPLES, /* far fewer samples came than were due: no verdict */
	CPU_FINDING_MACHINE,     /* what surrounds the process: the node, the limit, an observer */
};

struct cpu_diagnosis {
	struct cpu_numbers numbers;
	struct findings findings;   /* the first one leads; borrows the numbers: this struct stays where it is */
	enum cpu_finding finding;
	enum cpu_category category; /* of CPU_FINDING_CATEGORY */
	uint32_t method;            /* the one to look at first; CPU_NO_METHOD */
	char *headline;             /* <= HEADLINE_MAX_CHARS characters */
	char *text;                 /* <= DIAGNOSIS_MAX_BYTES; lines; the first is the headline */
};

void cpu_diagnosis_make(const struct cpu_analysis *a, struct cpu_diagnosis *out);
void cpu_diagnosis_fini(struct cpu_diagnosis *d);

#endif
