#include "agent/session/session_ending.h"
#include "common/api/reason.h"
#include "common/proto/channel.h"

#include <criterion/criterion.h>

Test(session_ending, says_how_it_ended)
{
	const struct {
		enum session_ending how;
		bool any, stopped;
		enum job_phase phase;
		const char *reason;
	} rows[] = {
		{ENDED_IN_TIME, true, false, JOB_SUCCEEDED, REASON_Completed},
		{ENDED_IN_TIME, true, true, JOB_SUCCEEDED, REASON_Completed},
		{ENDED_IN_TIME, false, false, JOB_FAILED, REASON_NoSamples},
		{ENDED_IN_TIME, false, true, JOB_FAILED, REASON_ProcessStopped},
		{ENDED_CANCELED, true, false, JOB_CANCELED, REASON_Canceled},
		{ENDED_CANCELED, false, true, JOB_CANCELED, REASON_Canceled},
		{ENDED_STOPPED, true, false, JOB_CANCELED, REASON_Canceled},
		{ENDED_STOPPED, false, false, JOB_CANCELED, REASON_Canceled},
		{ENDED_DEADLINE, true, false, JOB_SUCCEEDED, REASON_Completed},
		{ENDED_DEADLINE, false, false, JOB_FAILED, REASON_DeadlineExceeded},
		{ENDED_DEADLINE, false, true, JOB_FAILED, REASON_ProcessStopped},
		{ENDED_EXITED, true, true, JOB_SUCCEEDED, REASON_Completed},
		{ENDED_EXITED, false, true, JOB_FAILED, REASON_ProcessExited},
		{ENDED_PAUSE, true, false, JOB_FAILED, REASON_PauseBudgetExceeded},
		{ENDED_PAUSE, false, true, JOB_FAILED, REASON_PauseBudgetExceeded},
		{ENDED_LAPSED, true, false, JOB_SUCCEEDED, REASON_Completed},
		{ENDED_LAPSED, false, true, JOB_FAILED, REASON_AgentStalled},
		{ENDED_CHANNEL_LOST, true, false, JOB_SUCCEEDED, REASON_Completed},
		{ENDED_CHANNEL_LOST, false, false, JOB_FAILED, REASON_AttachFailed},
	};
	static const struct session_nothing nothing = {REASON_NoSamples, "the process used no CPU during the session"};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct session_ending_words w = session_ending_words(rows[i].how, rows[i].any, rows[i].stopped, &nothing);
		cr_expect_eq(w.phase, rows[i].phase, "row %zu", i);
		cr_expect_str_eq(w.reason, rows[i].reason, "row %zu", i);
		cr_expect(w.message && w.message[0], "row %zu", i);
		cr_expect_eq(session_ending_why(rows[i].how) == NULL, rows[i].how == ENDED_IN_TIME, "row %zu", i);
	}
}

Test(session_ending, says_with_what_the_process_ended)
{
	char text[SESSION_ENDING_EXIT_SIZE];
	const struct exit_status longest = {true, INT64_MIN, "SIGABRT"};
	cr_expect_str_eq(session_ending_exit(&(struct exit_status){true, 134, "SIGABRT"}, text), "; exit code 134 (SIGABRT)");
	cr_expect_str_eq(session_ending_exit(&(struct exit_status){0}, text), "", "not known");
	cr_expect_str_eq(session_ending_exit(&longest, text), "; exit code -9223372036854775808 (SIGABRT)");
}

Test(session_ending, says_what_stays_and_why)
{
	cr_expect_str_eq(session_ending_left(0), "");
	cr_expect_str_eq(session_ending_left(CHANNEL_LEFT_UNUSED), "", "nobody enters it: the report says it with the session's cost");
	cr_expect(strstr(session_ending_left(CHANNEL_LEFT_UNUSED | CHANNEL_LEFT_MAPPED), "another party"), "what may do harm comes first");
}

Test(session_ending, who_has_stopped_the_agent_has_not_asked_for_the_sessions_end)
{
	cr_expect_eq(session_ending_early(), ENDED_CANCELED);
	session_ending_agent_stops();
	cr_expect_eq(session_ending_early(), ENDED_STOPPED);
	cr_expect_str_eq(session_ending_why(session_ending_early()), "the agent was stopped");
}
