#include "agent/cli/cli_words.h"

#include "common/api/reason.h"
#include "common/api/session_options.h"

#include <string.h>

#define TEXT_MAX (1u << 20)

/* What can happen on a machine without a cluster, where the usual remedy is for one. */
static const struct {
	const char *reason, *remedy;
} remedies[] = {
	{REASON_InvalidSpec, "Correct the option or the field that the message names."},
	{REASON_BaselineUnusable, "Name a report.json of the same profiler, or its folder, by --baseline."},
	{REASON_Profiling, "Wait until the duration has passed, or end it early by Ctrl-C and keep its report."},
	{REASON_Completed, "Read the diagnosis and the report."},
	{REASON_DeadlineExceeded, "Find out why the process did not answer in time, then try again."},
	{REASON_PauseBudgetExceeded, "Raise --pause-budget, or profile at a calmer time."},
	{REASON_HeapTooLarge, "Raise --pause-budget to what the message names."},
	{REASON_HeapTooLargeForAgent, "Give drdotnet more memory, or the report's folder more space, as the message names it."},
	{REASON_NoDotnetProcess, "Check that it is .NET, and DOTNET_EnableDiagnostics; for processes of other users use sudo."},
	{REASON_AmbiguousProcess, "Several .NET processes match: name one by its id."},
	{REASON_ProcessNotFound, "Check the name or id: drdotnet ps lists the processes; for those of other users use sudo."},
	{REASON_DiagnosticsDisabled, "Remove DOTNET_EnableDiagnostics=0 (or _IPC, _Profiler) from the process's environment and restart it."},
	{REASON_AgentLimitReached, "Raise the limit of drdotnet that the message names (ulimit -n), then try again."},
	{REASON_ArchitectureMismatch, "Run the application on this machine's own CPU architecture: emulated processes cannot be profiled."},
	{REASON_NoStagingPlace, "Make the process's /tmp writable and executable, with 1 MiB free."},
	{REASON_NotEnoughMemory, "The process is too close to its memory limit; raise it a little."},
	{REASON_ProcessUnresponsive, "A file system of the process (FUSE, NFS) does not answer; repair or unmount it, then try again."},
	{REASON_PermissionDenied, "Run drdotnet with sudo, or as the process's user."},
	{REASON_PerfEventsForbidden, "Run drdotnet with sudo, or set the sysctl kernel.perf_event_paranoid to 2 or less."},
	{REASON_UnsupportedRuntime, "Mono and sandboxes (gVisor, Kata) cannot be profiled: use .NET 8 or newer outside of them."},
	{REASON_AgentStalled, "drdotnet was stopped, frozen or without CPU time; try again."},
	{REASON_SpoolFull, "Free space on the disk of the report's folder, or name another one by --output."},
	{REASON_SpoolUnusable, "Check the report's folder: it cannot be written; or name another one by --output."},
	{REASON_InternalError, "Please report this with the output of --verbose."},
};

static const struct {
	const char *ours, *said;
} phrases[] = {
	{"The agent's", "drdotnet's"}, {"the agent's", "drdotnet's"}, {"The agent", "drdotnet"}, {"the agent", "drdotnet"},
	{"the pod's processes", "the processes"}, {"the pod runs", "the process runs"},
};

void cli_words_put(const char *text, struct buf *out)
{
	AUTO_BUF struct buf spoken;
	buf_init(&spoken, TEXT_MAX);
	session_options_speak(text, &spoken);
	for (const char *at = buf_str(&spoken); *at;) {
		size_t len = 0;
		for (size_t i = 0; i < sizeof phrases / sizeof *phrases && !len; i++) {
			if (strncmp(at, phrases[i].ours, strlen(phrases[i].ours)) != 0)
				continue;
			len = strlen(phrases[i].ours);
			buf_puts(out, phrases[i].said);
		}
		if (!len)
			buf_putc(out, *at);
		at += len ? len : 1;
	}
}

const char *cli_words_remedy(const char *reason)
{
	for (size_t i = 0; reason && i < sizeof remedies / sizeof *remedies; i++)
		if (strcmp(remedies[i].reason, reason) == 0)
			return remedies[i].remedy;
	return reason_remedy(reason);
}
