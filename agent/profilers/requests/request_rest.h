/* What the scheduler's own figures say of the time in which nothing else tells what a thread did: looks read how long it has run so far, and how long it has
 * waited for a CPU. From one reading to the next both are known, but not when: a part of that time has of each at least what the other parts cannot hold.
 * Pure; one thread. */
#ifndef DRDOTNET_REQUEST_REST_H
#define DRDOTNET_REQUEST_REST_H

#include "agent/profilers/requests/request_work.h"

struct work_rest { /* of time that is DOING_UNTOLD */
	uint64_t ns;
	uint64_t run_least_ns, run_most_ns; /* the thread ran in it */
	uint64_t no_cpu_least_ns;           /* it waited for a CPU */
};

/* Makes the intervals of `w`, whose spans and windows are sorted, of the readings in the waits' log. */
void request_rest_make(const struct wait_capture *c, struct request_work *w);

/* From readings of threads, by thread, then by time; part of request_rest_make(). */
struct rest_reading {
	int64_t at_ns;
	uint64_t run_ns, no_cpu_ns;
	uint32_t tid;
};
void request_rest_of(const struct rest_reading *list, size_t count, struct request_work *w);

struct rest_counter { /* of the pieces of one stay, in the order of time */
	const struct request_work *work;
	struct work_rest *sum;
	size_t interval; /* plus one; 0: none */
	int64_t in_it_ns;
};
void request_rest_add(struct rest_counter *c, uint32_t tid, int64_t from_ns, int64_t to_ns);
void request_rest_end(struct rest_counter *c);

#endif
