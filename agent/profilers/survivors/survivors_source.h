/* What every writer of a report file of GCSurvivors gets: all of it finished and read-only. */
#ifndef DRDOTNET_SURVIVORS_SOURCE_H
#define DRDOTNET_SURVIVORS_SOURCE_H

#include "agent/report/report_head.h"
#include "agent/profilers/survivors/survivors_diagnosis.h"

struct survivors_source {
	const struct survivors *survivors;
	const struct survivors_diagnosis *diagnosis;
	struct report_head head;
	int64_t analysis_ms;
};

#define SURVIVORS_TREE_PART 2000 /* nodes that hold less than such a part of the heap are left out of the files */

#endif
