#include "agent/session.h"

#include "agent/cpu_session.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <malloc.h>
#include <stdlib.h>

typedef void session_fn(const struct session_request *q, struct session_outcome *out);

static session_fn *const profilers[] = {
	[PROFILER_CPU_HOTPATHS] = cpu_session_run,
};

void session_run(const struct session_request *q, struct session_outcome *out)
{
	size_t kind = (size_t)q->spec->profiler;
	*out = (struct session_outcome){.phase = JOB_FAILED, .reason = REASON_InternalError, .started_wall_ms = clock_wall_ms()};
	if (kind < sizeof profilers / sizeof *profilers && profilers[kind])
		profilers[kind](q, out);
	else
		out->message = mem_strdup("this agent does not know that profiler");
	malloc_trim(0); /* a session's tables are large, and the agent may be idle for days after it */
}

void session_outcome_fini(struct session_outcome *o)
{
	if (!o)
		return;
	free(o->message);
	report_result_fini(&o->report);
	*o = (struct session_outcome){0};
}
