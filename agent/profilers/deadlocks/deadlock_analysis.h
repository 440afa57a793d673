/* From a capture to who waits for whom: circles, and the longest queue behind a thread that waits for no lock itself. Pure; one thread; borrows from the
 * capture. Only waits that lasted from one look to the other count: a lock that is busy is no deadlock. */
#ifndef DRDOTNET_DEADLOCK_ANALYSIS_H
#define DRDOTNET_DEADLOCK_ANALYSIS_H

#include "agent/profilers/deadlocks/deadlock_capture.h"

struct deadlock_circle {
	uint32_t *threads;  /* in the order in which they wait: each for the next, the last for the first */
	size_t count;
	uint32_t behind;    /* others that wait for one of them */
	size_t timed;       /* of its threads: they wait for a bounded time, and give up then */
	size_t cancelable;  /* of its threads: they wait until somebody cancels, too */
	size_t tasks;       /* of its threads: they wait for a task that the next one runs */
	bool counted;       /* the runtime counts as many waiters at each lock of it as were found */
	bool agreed;        /* and the stack of each thread says so, too, where it waits for a lock that is no monitor */
};

struct deadlock_analysis {
	const struct deadlock_capture *capture;
	struct wait_graph graph;  /* of lasting waits; for tasks, of those in a circle only: a task that somebody waits for is everyday */
	struct deadlock_circle *circles; /* those that are certain first, the one with most threads in and behind it before others */
	size_t circle_count;
	uint32_t head;            /* of the longest queue without a circle: a thread that others wait for; WAIT_NONE */
	uint32_t queue;           /* so many wait behind it */
	bool queue_agreed;
	size_t waiting, lasting;  /* threads that wait for a lock at the second look; since the first one; tasks do not count */
};

void deadlock_analysis_make(const struct deadlock_capture *c, struct deadlock_analysis *out);
void deadlock_analysis_fini(struct deadlock_analysis *a);

/* A circle that cannot open any more: none of its threads has run between the looks, each waits without a time limit, both witnesses know of each. Before
 * the stacks have names (`named` false): all but these. */
bool deadlock_analysis_proven(const struct deadlock_analysis *a, bool named);

/* It blocks on a task that another thread runs. */
bool deadlock_analysis_on_task(const struct deadlock_capture *c, uint32_t thread);

/* Where a thread is, for people: its innermost frame of the application, else of .NET's libraries, else any where all had their chance of a
 * name. NULL: nothing is known of its stack. */
const struct frame *deadlock_analysis_place(const struct deadlock_capture *c, uint32_t thread);

/* What that frame called that does not come back: the outermost frame of .NET's libraries below it. NULL: none is known. */
const struct frame *deadlock_analysis_call(const struct deadlock_capture *c, uint32_t thread);

#endif
