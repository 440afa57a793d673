/* Every reason that a ProfilingTrigger's conditions, events and outcomes carry, each with what to do about it: the one table
 * behind the status and docs/triggers.md. Pure. */
#ifndef DRDOTNET_TRIGGER_REASON_H
#define DRDOTNET_TRIGGER_REASON_H

/* X(identifier, "remedy"); the CamelCase reason is the identifier itself. */
#define TRIGGER_REASON_LIST(X)                                                                                                \
	/* of the trigger as a whole */                                                                                       \
	X(Ready, "Nothing to do.")                                                                                            \
	X(WithinLimits, "Nothing to do.")                                                                                     \
	X(Suspended, "Set spec.suspend to false to let it start sessions again.")                                             \
	X(InvalidSpec, "Correct the field that the message names.")                                                           \
	X(SessionRejected, "Change the template, the quota or the policy that the message names; it is tried again at the next firing.") \
	/* of one firing */                                                                                                   \
	X(Fired, "Read the session's diagnosis.")                                                                             \
	X(Duplicate, "Nothing to do: this occurrence has its session already.")                                               \
	X(SessionRunningOnPod, "Nothing to do: a session of this trigger is under way on this pod.")                          \
	X(CoolingDown, "Lower spec.cooldownSeconds to have sessions of one pod follow each other sooner.")                    \
	X(TooManyActive, "Raise spec.limits.maxActive, or wait for a session's end.")                                         \
	X(HourlyLimit, "Raise spec.limits.perHour, or make the source less eager.")                                           \
	X(HistoryFull, "Lower spec.cooldownSeconds: more firings are within it than the status can hold.")                    \
	X(NoTarget, "Let the source name a pod, or give the template's target a selector.")                                   \
	X(NoLimit, "Give the container a limit, or let the threshold take per cent of its request.")                          \
	X(NotSeen, "Give the node's agent its mount of /sys/fs/cgroup: without it nobody sees the pod's CPU and memory.")         \
	X(TriggerDeleted, "Nothing to do.")                                                                                   \
	X(TooManyWaiting, "Send it again later: more firings wait than can be held.")                                         \
	X(Unreachable, "Send it again later: the API server cannot be reached.")

#define TRIGGER_REASON_DECLARE(name, remedy) extern const char TRIGGER_REASON_##name[];
TRIGGER_REASON_LIST(TRIGGER_REASON_DECLARE)
#undef TRIGGER_REASON_DECLARE

const char *trigger_reason_remedy(const char *reason); /* NULL: none of ours */
const char *trigger_reason_intern(const char *text);   /* the constant equal to `text`, or NULL */

#endif
