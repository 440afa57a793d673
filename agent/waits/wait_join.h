/* Each wait with the stack that was taken of it, what it means, and how many waits it stands for. Part of wait_analysis.c. Pure; one thread. */
#ifndef DRDOTNET_WAIT_JOIN_H
#define DRDOTNET_WAIT_JOIN_H

#include "agent/waits/wait_capture.h"
#include "agent/waits/wait_kind.h"

struct joined_wait {
	const struct wait *wait;
	uint32_t thread, stack; /* in the capture; stack UINT32_MAX: none was found */
	bool times;             /* it tells the time: it was seen by looks, or there were none then */
	double ns, count;       /* what it stands for; where there are looks they tell the time, and the records of switches how often */
	int64_t length_ns;      /* of looks: to their distance */
	int64_t least_ns;       /* it lasted so long at least */
	struct wait_meaning meaning;
	const char *called;     /* meaning.what before it was judged whether that idles */
	bool idles;             /* meaning.idle before */
};

struct wait_join {
	struct joined_wait *list; /* those with a stack: first those that tell the time, then the others; each by thread, then by time */
	size_t count, timed_count;
	bool *is_worker;          /* by thread of the capture */
	double unseen_ns;         /* waits of which no stack says anything */
	double ready_ns;          /* could run, and nothing says where */
	double ready_count;
};

void wait_join_make(const struct wait_capture *c, struct wait_join *out);
void wait_join_fini(struct wait_join *j);

/* The wait of a thread of the capture that lasts at `at_ns`; NULL: none that is known. */
const struct joined_wait *wait_join_at(const struct wait_join *j, uint32_t thread, int64_t at_ns);

#endif
