/* What every writer of a report file about CPU time gets: all of it finished and read-only. */
#ifndef DRDOTNET_REPORT_SOURCE_H
#define DRDOTNET_REPORT_SOURCE_H

#include "agent/cpu_analysis.h"
#include "agent/cpu_diagnosis.h"
#include "agent/report_head.h"
#include "agent/stack_profile.h"

struct report_source {
	const struct cpu_analysis *analysis;
	const struct cpu_diagnosis *diagnosis;
	struct stack_profile profile; /* the analysis as the writers of profiles want it */
	struct report_head head;
};

#endif
