/* Every condition reason that a session's status may carry, with its remedy: the one table behind the status, the
 * local command's messages and docs/troubleshooting.md. Pure. */
#ifndef DRDOTNET_REASON_H
#define DRDOTNET_REASON_H

#include "common/base/err.h"

/* X(identifier, "remedy shown to the user"); the CamelCase reason is the identifier itself. */
#define REASON_LIST(X)                                                                                                        \
	/* specification */                                                                                                   \
	X(InvalidSpec, "Correct the field that the message names and create the session again.")                              \
	X(Accepted, "Nothing to do.")                                                                                         \
	X(BaselineUnusable, "Name a finished session of this namespace and profiler with a report, or leave spec.baselineSession out.") \
	X(RevealNotEnforced, "Install the shipped ValidatingAdmissionPolicy, or ask without revealing values.")               \
	/* progress */                                                                                                        \
	X(Pending, "Wait: the controller has not yet chosen pods.")                                                           \
	X(Queued, "Wait: the budget of the installation, the node or the process is in use; the message names the place.")    \
	X(WaitingForContainerStart, "Restart the container or roll the workload out; the first container that starts is profiled.")   \
	X(Preparing, "Wait: the agent is about to attach.")                                                                   \
	X(Profiling, "Wait until the duration has passed, or set spec.cancel to end it early and keep its report.")           \
	X(Analyzing, "Wait: the report is being written.")                                                                    \
	X(Delivering, "Wait: the report is being uploaded; the diagnosis is already in the status.")                          \
	/* ends */                                                                                                            \
	X(Completed, "Read the diagnosis; the reports' places are in status.targets.")                                        \
	X(PartiallySucceeded, "See status.targets for the pods that failed and why.")                                         \
	X(Canceled, "Nothing to do: the session was ended before its time; what was collected is in the report.")             \
	X(DeadlineExceeded, "Raise spec.activeDeadlineSeconds or find out why the target was not reachable in time.")         \
	X(NoContainerStarted, "Restart the workload while the session waits, or raise spec.activeDeadlineSeconds.")            \
	X(StartsNotEnabled, "Use start: Now, or ask who runs the installation (CONTAINER_STARTS_ENABLED).")                   \
	X(StartMissed, "Raise spec.activeDeadlineSeconds, or restart the container when the node profiles less.")               \
	X(PauseBudgetExceeded, "Raise spec.pauseBudgetMilliseconds, or profile at a calmer time.")                            \
	X(HeapTooLarge, "Raise spec.pauseBudgetMilliseconds to what the message names.")                                     \
	X(HeapTooLargeForAgent, "Raise the agent's memory limit, or its spool's quota and disk, to what the message names.") \
	X(HeapWalkTorn, "The heap could not be read in one piece; try again at a calmer time.")                               \
	X(NoSamples, "The process used little CPU in this time or none: profile it while it is busy, or for longer.")                                    \
	/* choosing pods */                                                                                                   \
	X(NoPodsMatched, "Check spec.target: no running pod of this namespace matches.")                                      \
	X(PodNotFound, "Check spec.target.podName: there is no such pod in this namespace.")                                  \
	X(PodNotRunning, "Wait until the pod runs; completed pods cannot be profiled.")                                       \
	X(PodNotReady, "Wait until the pod is ready, or name it by spec.target.podName to profile it all the same.")          \
	X(PodGone, "The pod ended meanwhile; create the session again for its successor.")                                    \
	X(NodeWithoutAgent, "Check that the agent's pod on this node runs and is ready: its events and log say why it has no link (kubectl drdotnet doctor).") \
	X(AgentLost, "Check the agent on this node; the session is taken up when it is back.")                                \
	X(AgentStalled, "The agent was stopped, frozen or without CPU time; see to the node and the agent's CPU limit, then try again.") \
	X(AgentTooOld, "Upgrade the agent's DaemonSet to the controller's version.")                                          \
	/* finding the process */                                                                                             \
	X(NoDotnetProcess, "No .NET process answers in this pod: check that it is .NET, and DOTNET_EnableDiagnostics.")       \
	X(AmbiguousProcess, "Several .NET processes match: name one by spec.target.container, process.entrypoint or pid.")    \
	X(ProcessNotFound, "Check spec.target.container and spec.target.process: no .NET process matches.")                   \
	X(ProcessExited, "The process ended during the session; its last logs say why.")                                      \
	X(ProcessSuspended, "The process waits at start-up for a debugger or tool; resume it first.")                         \
	X(ProcessStopped, "The process is stopped or frozen; let it run, then try again.")                                    \
	X(ProcessUnresponsive, "A file system of the container (FUSE, NFS) does not answer; repair or unmount it, then try again.") \
	X(BeingDebugged, "A debugger or dump holds the process; try again afterwards.")                                       \
	/* preflight */                                                                                                       \
	X(DiagnosticsDisabled, "Remove DOTNET_EnableDiagnostics=0 (or _IPC, _Profiler) from the container's environment and restart it.") \
	X(NativeAOT, "Use CPUHotpaths, Waits or Threads, or publish the application without Native AOT.")                         \
	X(RuntimeTooOld, "Profiling needs .NET 8 or newer; upgrade the application.")                                         \
	X(ArchitectureMismatch, "Run the application's image for the node's own CPU architecture: emulated processes cannot be profiled.") \
	X(ProfilerAlreadyActive, "Try again when the other profiler or session has left the process.") \
	X(NoStagingPlace, "Mount an emptyDir at the container's /tmp, writable, executable and with 1 MiB free.")             \
	X(NotEnoughMemory, "The container is too close to its memory limit; raise it a little.")                              \
	X(ProcessLimitReached, "Raise the limit that the message names, or find out what uses it up: .NET itself may end without threads or descriptors.") \
	X(AgentLimitReached, "Raise the limit of the agent that the message names, or profile fewer processes at a time.") \
	X(PathTooLong, "Shorten the target's temporary folder (TMPDIR): socket paths end at 108 bytes.")                      \
	X(AttachFailed, "See the message; the runtime refused the profiler.")                                                 \
	X(PermissionDenied, "Give the agent the capabilities or the profile that the message names.")                         \
	X(PerfEventsForbidden, "Give the agent PERFMON, a seccomp profile that allows perf_event_open, or a lower perf_event_paranoid.") \
	X(UnsupportedRuntime, "Mono and sandboxes (gVisor, Kata) cannot be profiled: use .NET 8 or newer, without that runtimeClassName.") \
	/* delivery */                                                                                                        \
	X(StoreNotFound, "Check spec.output.store: the installation has no store of this name.")                              \
	X(UploadFailed, "Check the object storage; the message has its answer.")                                              \
	X(DeliveryExpired, "The object storage was away for too long; the diagnosis is in the status.")                       \
	X(SpoolFull, "Free space on the disk of the node's spool, or raise the spool's quota.")                               \
	X(SpoolUnusable, "Check the file system of the node's spool: it can not be written, or its files are gone or damaged.") \
	/* us */                                                                                                              \
	X(InternalError, "Please report this with the agent's and the controller's logs.")

#define REASON_DECLARE(name, remedy) extern const char REASON_##name[];
REASON_LIST(REASON_DECLARE)
#undef REASON_DECLARE

/* The remedy for a reason, or NULL when it is none of ours. */
const char *reason_remedy(const char *reason);

/* The constant equal to `text`, or NULL: for reasons that come over the link. */
const char *reason_intern(const char *text);

/* Whose fault an end for this reason is: "installation", which those who run Dr-Dotnet have to see to; "none", which is no failure; "other": it says
 * something of what was asked for, of its target, or of the moment. Static storage. `waited_for`: the reason of the condition Running at that end, which is
 * whose fault a passed deadline is; NULL: not known. */
const char *reason_fault(const char *reason, const char *waited_for);
#define REASON_FAULT_INSTALLATION "installation"
#define REASON_FAULT_NONE "none"
#define REASON_FAULT_OTHER "other"

/* Why what this error ended has failed: its own reason; PermissionDenied for a system call that was refused; else InternalError. */
const char *reason_of_err(const struct err *e);

/* For the errno of a write to the agent's spool: SpoolFull, SpoolUnusable; NULL: the spool is not to blame. */
const char *reason_of_write_error(int errnum);

#endif
