/* When requests are followed: all the time where that costs little; else a second of every few, or less of it, so that it keeps to its part of the process's
 * CPU time. Each round says for how much time like it it stands: for itself, and for the rest after it, in which nobody is followed, by the CPU time that the
 * process takes then. Pure: time and counts are arguments. */
#ifndef DRDOTNET_FOLLOW_PLAN_H
#define DRDOTNET_FOLLOW_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define FOLLOW_ROUND_NS 1000000000u
#define FOLLOW_ROUND_LEAST_NS 250000000u /* of one that has cost as much as a burst */
#define FOLLOW_LONGEST_REST_NS 30000000000u
#define FOLLOW_COST_NS 4000u      /* of CPU time: both ends of a request, or of a call */
#define FOLLOW_PART 150u          /* one 150th of the process's CPU time */
#define FOLLOW_ALWAYS_PART 200u   /* or of one CPU's, if that is more: some 1,250 requests a second */
#define FOLLOW_BURST_NS 60000000u /* of CPU time: 15,000 requests */

struct follow_now {
	uint64_t ns, cpu_ns; /* CPU time of the process */
	uint64_t followed;   /* beginnings of requests and calls so far */
};

struct follow_round {
	uint64_t start_ns, end_ns, rest_ns; /* the time after it in which nobody was followed */
	uint64_t stands_for_ns;
	bool after_rest; /* what had begun before it was not seen */
};

struct follow_plan {
	struct follow_now since;
	struct follow_round held; /* the round before the rest that goes on */
	int64_t held_cpu_ns;      /* of it, without what it cost to follow */
	int64_t credit_ns;        /* of CPU time */
	uint64_t resume_ns;       /* of a rest: when it is to end */
	bool resting, rested;     /* rested: before the running round */
};

enum follow_step { FOLLOW_GO_ON, FOLLOW_ROUND, FOLLOW_REST, FOLLOW_RESUME };

void follow_plan_init(struct follow_plan *p, const struct follow_now *now);
/* What is to be done now. FOLLOW_ROUND: one is over, *out, and the next has begun. FOLLOW_REST: follow nobody until FOLLOW_RESUME comes. */
enum follow_step follow_plan_step(struct follow_plan *p, const struct follow_now *now, struct follow_round *out);
/* Requests are followed again: what the round before the rest stands for is known, *out. */
void follow_plan_resumed(struct follow_plan *p, const struct follow_now *now, struct follow_round *out);
/* They could not be: the rest goes on for so long. */
void follow_plan_postpone(struct follow_plan *p, uint64_t ns);
/* The end, in a rest or not: the last round, of no length if there is none. */
void follow_plan_end(const struct follow_plan *p, const struct follow_now *now, struct follow_round *out);

#endif
