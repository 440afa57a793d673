/* How a session can end once it has begun, and what is said of that. Pure. */
#ifndef DRDOTNET_SESSION_ENDING_H
#define DRDOTNET_SESSION_ENDING_H

#include "common/link/link_msg.h"

#include <stdbool.h>

enum session_ending {
	ENDED_NOT,
	ENDED_IN_TIME,
	ENDED_CANCELED,
	ENDED_DEADLINE,
	ENDED_EXITED,       /* with the process */
	ENDED_CHANNEL_LOST, /* the library left early */
	ENDED_PAUSE,        /* the library left: it had held the application for longer than the session allows */
};

struct session_ending_words {
	enum job_phase phase;
	const char *reason, *message; /* static */
};

/* Why it ended early, for the report; NULL: it did not. Static. */
const char *session_ending_why(enum session_ending how);

/* What a session says that ran its time and has nothing to report: REASON_NoSamples, "the process used no CPU during the session". */
struct session_nothing {
	const char *reason, *message; /* static */
};

/* `any`: there is something to report; `stopped`: the process could not run at some time of the session. */
struct session_ending_words session_ending_words(enum session_ending how, bool any, bool stopped, const struct session_nothing *nothing);

#endif
