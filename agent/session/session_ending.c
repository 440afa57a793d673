#include "agent/session/session_ending.h"

#include "common/api/reason.h"
#include "common/proto/channel.h"

#include <stdatomic.h>
#include <stdio.h>

static atomic_bool agent_stops;

void session_ending_agent_stops(void)
{
	atomic_store(&agent_stops, true);
}

enum session_ending session_ending_early(void)
{
	return atomic_load(&agent_stops) ? ENDED_STOPPED : ENDED_CANCELED;
}

const char *session_ending_why(enum session_ending how)
{
	static const char *const why[] = {
		[ENDED_CANCELED] = "on request",
		[ENDED_STOPPED] = "the agent was stopped",
		[ENDED_DEADLINE] = "at its deadline",
		[ENDED_EXITED] = "the process ended",
		[ENDED_CHANNEL_LOST] = "the profiler detached",
		[ENDED_LAPSED] = "the agent could not run for some time, and the profiler detached",
		[ENDED_PAUSE] = "the application was paused, or a thread of it waited, for longer than the session allows",
	};
	return why[how];
}

struct session_ending_words session_ending_words(enum session_ending how, bool any, bool stopped, const struct session_nothing *nothing)
{
	const struct session_ending_words with_report[] = {
		[ENDED_NOT] = {JOB_SUCCEEDED, REASON_Completed, "completed"},
		[ENDED_IN_TIME] = {JOB_SUCCEEDED, REASON_Completed, "completed"},
		[ENDED_CANCELED] = {JOB_CANCELED, REASON_Canceled, "ended early on request; the report holds what was collected"},
		[ENDED_STOPPED] = {JOB_CANCELED, REASON_Canceled, "ended early because the agent was stopped; the report holds what was collected"},
		[ENDED_DEADLINE] = {JOB_SUCCEEDED, REASON_Completed, "ended early at its deadline; the report holds what was collected"},
		[ENDED_EXITED] = {JOB_SUCCEEDED, REASON_Completed,
				  "the process ended during the session; the report holds what was collected"},
		[ENDED_CHANNEL_LOST] = {JOB_SUCCEEDED, REASON_Completed,
					"the profiler detached early; the report contains what was collected"},
		[ENDED_LAPSED] = {JOB_SUCCEEDED, REASON_Completed,
				  "the agent could not run for some time, and the profiler detached early; the report contains what was collected"},
		[ENDED_PAUSE] = {JOB_FAILED, REASON_PauseBudgetExceeded, "the report holds what was collected until then"},
	};
	const struct session_ending_words without[] = {
		[ENDED_NOT] = {JOB_FAILED, nothing->reason, nothing->message},
		[ENDED_IN_TIME] = {JOB_FAILED, nothing->reason, nothing->message},
		[ENDED_CANCELED] = {JOB_CANCELED, REASON_Canceled, "ended early on request, before anything was collected"},
		[ENDED_STOPPED] = {JOB_CANCELED, REASON_Canceled, "the agent was stopped before anything was collected"},
		[ENDED_DEADLINE] = {JOB_FAILED, REASON_DeadlineExceeded, "the deadline passed before anything was collected"},
		[ENDED_EXITED] = {JOB_FAILED, REASON_ProcessExited, "the process ended before anything was collected"},
		[ENDED_CHANNEL_LOST] = {JOB_FAILED, REASON_AttachFailed, "the profiler detached before anything was collected"},
		[ENDED_LAPSED] = {JOB_FAILED, REASON_AgentStalled,
				  "the agent could not run for some time, and the profiler detached before anything was collected"},
		[ENDED_PAUSE] = {JOB_FAILED, REASON_PauseBudgetExceeded, "nothing was collected until then"},
	};
	if (!any && stopped && (how == ENDED_NOT || how == ENDED_IN_TIME || how == ENDED_DEADLINE))
		return (struct session_ending_words){JOB_FAILED, REASON_ProcessStopped, "the process was stopped or frozen during the session"};
	return any ? with_report[how] : without[how];
}

const char *session_ending_exit(const struct exit_status *exit, char text[SESSION_ENDING_EXIT_SIZE])
{
	AUTO_BUF struct buf words;
	buf_init(&words, SESSION_ENDING_EXIT_SIZE);
	exit_status_text(exit, &words);
	snprintf(text, SESSION_ENDING_EXIT_SIZE, "%s%s", words.len ? "; " : "", buf_str(&words));
	return text;
}

const char *session_ending_left(uint32_t left)
{
	if (left & CHANNEL_LEFT_EVENTS)
		return "; the runtime would not end the events that the session had it make: it goes on to make them until the process is restarted";
	if (left & CHANNEL_LEFT_MAPPED)
		return "; the library's code stays mapped in the process until it ends, without a thread: a thread or another party's signal handler "
		       "may still enter it";
	return "";
}
