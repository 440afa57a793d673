/* How a CPU session can end once it has begun, and what is said of that. Pure. */
#ifndef DRDOTNET_CPU_ENDING_H
#define DRDOTNET_CPU_ENDING_H

#include "common/link/link_msg.h"

#include <stdbool.h>

enum cpu_ending {
	ENDED_NOT,
	ENDED_IN_TIME,
	ENDED_CANCELED,
	ENDED_DEADLINE,
	ENDED_EXITED,       /* with the process */
	ENDED_CHANNEL_LOST, /* the library left early */
	ENDED_PAUSE,        /* the library left: it had held the application for longer than the session allows */
};

struct cpu_ending_words {
	enum job_phase phase;
	const char *reason, *message; /* static */
};

/* Why it ended early, for the report; NULL: it did not. Static. */
const char *cpu_ending_why(enum cpu_ending how);

/* `any`: there are samples, so there will be a report; `stopped`: the process could not run at some time of the session. */
struct cpu_ending_words cpu_ending_words(enum cpu_ending how, bool any, bool stopped);

#endif
