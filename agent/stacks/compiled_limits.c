#include "agent/stacks/compiled_limits.h"

#include "common/api/reason.h"

void compiled_limits_note(const char *reason, const struct cpu_capture *c, struct limits *l)
{
	if (reason != REASON_NativeAOT || c->managed_frames + c->unresolved_frames == 0)
		return;
	if (c->managed_frames)
		limits_note(l, "names", -1, -1,
			    "The application is compiled ahead of time (Native AOT): its methods are named by its symbols. Overloads of a method, and file and "
			    "line, are not told.");
	else
		limits_note(l, "names", -1, -1,
			    "Methods have no names: the executable has no symbols, and the file with them was not found. Keep APP.dbg, which dotnet publish writes, "
			    "beside the executable.");
}
