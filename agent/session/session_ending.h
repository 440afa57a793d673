/* How a session can end once it has begun, and what is said of that. Pure, but for the one thing that is true of all sessions of a process: it ends. */
#ifndef DRDOTNET_SESSION_ENDING_H
#define DRDOTNET_SESSION_ENDING_H

#include "common/base/exit_status.h"
#include "common/link/link_msg.h"

#include <stdbool.h>
#include <stdint.h>

enum session_ending {
	ENDED_NOT,
	ENDED_IN_TIME,
	ENDED_CANCELED,
	ENDED_STOPPED,      /* because the agent was stopped */
	ENDED_DEADLINE,
	ENDED_EXITED,       /* with the process */
	ENDED_CHANNEL_LOST, /* the library left early */
	ENDED_LAPSED,       /* the library left: the agent could not run */
	ENDED_PAUSE,        /* the library left: it had held the application for longer than the session allows */
};

struct session_ending_words {
	enum job_phase phase;
	const char *reason, *message; /* static */
};

/* From now on who ends a session early is the agent's own end. Any thread. */
void session_ending_agent_stops(void);

/* ENDED_CANCELED, or ENDED_STOPPED once the agent stops. */
enum session_ending session_ending_early(void);

/* Why it ended early, for the report; NULL: it did not. Static. */
const char *session_ending_why(enum session_ending how);

/* What a session says that ran its time and has nothing to report: REASON_NoSamples,
 * "no sample was taken: the process used too little CPU during the session". */
struct session_nothing {
	const char *reason, *message; /* static */
};

/* `any`: there is something to report; `stopped`: the process could not run at some time of the session. */
struct session_ending_words session_ending_words(enum session_ending how, bool any, bool stopped, const struct session_nothing *nothing);

/* What is said in addition of a process that has ended: "; exit code 134 (SIGABRT)"; "": it is not known. Borrowed from `text`. */
#define SESSION_ENDING_EXIT_SIZE 64
const char *session_ending_exit(const struct exit_status *exit, char text[SESSION_ENDING_EXIT_SIZE]);

/* What is said in addition of what the library could not undo (enum channel_left), "; ..."; "": nothing was left that does anything. Static. */
const char *session_ending_left(uint32_t left);

#endif
