/* What every writer of a report file about CPU time gets: all of it finished and read-only. */
#ifndef DRDOTNET_REPORT_SOURCE_H
#define DRDOTNET_REPORT_SOURCE_H

#include "agent/stacks/cpu_analysis.h"
#include "agent/profilers/cpu/cpu_diagnosis.h"
#include "agent/report/report_head.h"
#include "agent/stacks/stack_profile.h"

struct report_source {
	const struct cpu_analysis *analysis;
	const struct cpu_diagnosis *diagnosis;
	struct stack_profile profile; /* the analysis as the writers of profiles want it */
	struct report_head head;
};

#endif
