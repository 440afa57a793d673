/* When requests are followed: all the time where that costs little; else a part of a second now and then, so that it keeps to its part of the process's CPU
 * time. Each round says what CPU time the process takes for what was followed in it, and took in the rest before it, in which nobody was followed: how many
 * there were then can be told from both. Pure: time and counts are arguments. */
#ifndef DRDOTNET_FOLLOW_PLAN_H
#define DRDOTNET_FOLLOW_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define FOLLOW_ROUND_NS 1000000000u
#define FOLLOW_ROUND_LEAST_NS 100000000u /* of one that has cost as much as a burst */
#define FOLLOW_SLOW_NS 50000000u         /* a request that takes as long would not be seen in short rounds: they are longer for it */
#define FOLLOW_DEAREST_NS 240000000u     /* of CPU time: but not longer than this allows */
#define FOLLOW_LONGEST_REST_NS 30000000000u
#define FOLLOW_COST_NS 4000u      /* of CPU time: both ends of a request, or of a call */
#define FOLLOW_COST_OF_MANY_NS 3300u /* where one comes right after the other */
#define FOLLOW_SETTLED 5000u      /* so many are followed until what is dearer at first has passed: the code of events is compiled, threads are told */
#define FOLLOW_PART 150u          /* one 150th of the process's CPU time */
#define FOLLOW_ALWAYS_PART 200u   /* or of one CPU's, if that is more: some 1,250 requests a second */
#define FOLLOW_BURST_NS 60000000u /* of CPU time: 15,000 requests */
#define FOLLOW_COUNTED_NS 30000u /* of CPU time: to have a request counted costs 300 ns, 1% of one that takes so much */

struct follow_now {
	uint64_t ns, cpu_ns; /* CPU time of the process */
	uint64_t followed;   /* beginnings of requests and calls so far */
	bool slow;           /* a request has been under way for FOLLOW_SLOW_NS; needed where follow_plan_asks() only */
};

struct follow_round {
	uint64_t rest_ns, rest_cpu_ns; /* before it: nobody was followed, and the CPU time that the process took */
	uint64_t start_ns, end_ns;     /* the same: there was a rest only */
	uint64_t own_cpu_ns;           /* that the process took in it, but for what it cost to follow */
	uint64_t followed;
};

struct follow_plan {
	struct follow_now since;          /* the round's beginning, or the rest's */
	struct follow_now settled;        /* ns 0: not yet */
	uint64_t rest_ns, rest_cpu_ns;    /* before the round that runs */
	int64_t credit_ns;                /* of CPU time */
	uint64_t resume_ns;               /* of a rest: when it is to end */
	bool resting;
};

enum follow_step { FOLLOW_GO_ON, FOLLOW_ROUND, FOLLOW_REST, FOLLOW_RESUME };

void follow_plan_init(struct follow_plan *p, const struct follow_now *now);
/* Whether it depends on `slow` if the round is over. */
bool follow_plan_asks(const struct follow_plan *p, const struct follow_now *now);
/* What is to be done now. FOLLOW_ROUND, FOLLOW_REST: a round is over, *out, and the next has begun, or nobody is to be followed until FOLLOW_RESUME comes. */
enum follow_step follow_plan_step(struct follow_plan *p, const struct follow_now *now, struct follow_round *out);
/* It was over at that moment, before its time: a rest has begun then. */
void follow_plan_break(struct follow_plan *p, const struct follow_now *then, struct follow_round *out);
void follow_plan_resumed(struct follow_plan *p, const struct follow_now *now); /* requests are followed again */
/* Whether requests are to be counted in the rest after that round. */
bool follow_plan_counts(const struct follow_round *r);
void follow_plan_postpone(struct follow_plan *p, uint64_t ns);                 /* they could not be: the rest goes on for so long */
/* The end, in a rest or not: what runs is the last round. */
void follow_plan_end(const struct follow_plan *p, const struct follow_now *now, struct follow_round *out);

#endif
