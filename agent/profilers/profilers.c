#include "agent/profilers/profilers.h"

#include "agent/profilers/allocs/alloc_session.h"
#include "agent/profilers/cpu/cpu_session.h"
#include "agent/profilers/deadlocks/deadlock_session.h"
#include "agent/profilers/exceptions/exception_session.h"
#include "agent/profilers/leak/leak_session.h"
#include "agent/profilers/pauses/pause_session.h"
#include "agent/profilers/requests/request_session.h"
#include "agent/profilers/strings/strings_session.h"
#include "agent/profilers/stucktasks/stuck_session.h"
#include "agent/profilers/survivors/survivors_session.h"
#include "agent/profilers/waits/wait_session.h"
#include "agent/profilers/threads/threads_session.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

static const struct session_profiler *const profilers[] = {
	[PROFILER_CPU_HOTPATHS] = &cpu_session,
	[PROFILER_MEMORY_LEAK] = &leak_session,
	[PROFILER_GC_SURVIVORS] = &survivors_session,
	[PROFILER_DUPLICATED_STRINGS] = &strings_session,
	[PROFILER_RUNTIME_PAUSES] = &pause_session,
	[PROFILER_ALLOCATIONS] = &alloc_session,
	[PROFILER_DEADLOCKS] = &deadlock_session,
	[PROFILER_EXCEPTIONS] = &exception_session,
	[PROFILER_STUCK_TASKS] = &stuck_session,
	[PROFILER_WAITS] = &wait_session,
	[PROFILER_THREADS] = &threads_session,
	[PROFILER_SLOW_REQUESTS] = &request_session,
};

unsigned profilers_work_without(enum profiler_kind kind)
{
	return (size_t)kind < sizeof profilers / sizeof *profilers && profilers[kind] ? profilers[kind]->without : 0;
}

void profilers_run(const struct session_request *q, struct session_outcome *out)
{
	size_t kind = (size_t)q->spec->profiler;
	if (kind < sizeof profilers / sizeof *profilers && profilers[kind]) {
		session_run(profilers[kind], q, out);
		return;
	}
	*out = (struct session_outcome){.phase = JOB_FAILED, .reason = REASON_InternalError, .started_wall_ms = clock_wall_ms()};
	out->message = mem_strdup("this agent does not know that profiler");
}
