/* How the waits of a process are followed: each switch is recorded with its stack where there are few; where there are many, looks at the threads tell how
 * long they wait in what, and switches are recorded for as much of the time as they may cost. Pure; any thread. */
#ifndef DRDOTNET_WAIT_PLAN_H
#define DRDOTNET_WAIT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define WAIT_PLAN_DEBT_NS 60000000 /* of CPU time: an excess that is taken for a burst */

struct wait_plan {
	bool looks;         /* threads are looked at at random moments */
	uint64_t period;    /* one of so many recorded switches has a stack */
	int64_t cycle_ns;   /* in each of so long one window of ... */
	int64_t window_ns;  /* ... so long, in which switches are recorded; the same: all the time */
};

/* Of a process that does so many switches and uses so much CPU time a second, for a session of `duration_ns`. `full`: the node's CPUs are taken: records may be
 * lost before they are read, and looks tell the times, too. */
struct wait_plan wait_plan_make(double switches, double cpu_ns, int64_t duration_ns, bool full);

/* What records of so many switches cost the process beyond what they may in `ns`, of which it used `cpu_ns`; less than 0: it could do more of them. */
int64_t wait_plan_excess_ns(const struct wait_plan *p, uint64_t switches, int64_t ns, int64_t cpu_ns);

/* Of a process that has not begun, so that nothing is known of it: as for one that does many. */
struct wait_plan wait_plan_blind(int64_t duration_ns);

/* Without records of switches. */
struct wait_plan wait_plan_looks_only(void);

/* When the window of the cycle that begins at `cycle_start_ns` opens; `random` chooses. */
int64_t wait_plan_opens_ns(const struct wait_plan *p, int64_t cycle_start_ns, uint64_t random);

/* How long to the next look, when the last one took `cost_ns` of a CPU: at random, since threads that take turns would else always show the same one. */
int64_t wait_plan_look_ns(int64_t cost_ns, uint64_t random);

/* The next of a row of numbers that are as good as random (xorshift64); *state is not 0. */
uint64_t wait_plan_random(uint64_t *state);

#endif
