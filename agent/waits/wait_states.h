/* What each thread did over the time of a session, in parts of equal length: the state that it was in for most of each. Part of wait_analysis.c's result.
 * Pure; one thread. */
#ifndef DRDOTNET_WAIT_STATES_H
#define DRDOTNET_WAIT_STATES_H

#include "agent/waits/wait_join.h"

#define WAIT_STATES_PARTS 200 /* at most */

/* Letters of a thread's line beside those of the kinds of waiting (wait_states_letter()). */
#define WAIT_STATE_RUNS '#'
#define WAIT_STATE_IDLE '-'
#define WAIT_STATE_UNSEEN '?' /* it ran and waited in turns that were too short to be seen */
#define WAIT_STATE_ABSENT ' ' /* it was not there yet, or no longer */

struct wait_states {
	int64_t length_ns, part_ns; /* of the session; the last part may be shorter */
	size_t parts;
	char **lines; /* by thread of the capture; parts letters */
	size_t count;
	double lost_ns; /* where all switches should be recorded: neither a wait nor CPU time, because records are missing */
};

char wait_states_letter(enum wait_kind k);

void wait_states_make(const struct wait_capture *c, const struct wait_join *j, struct wait_states *out);
void wait_states_fini(struct wait_states *s); /* takes zeroed structs */

#endif
