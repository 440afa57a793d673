/* How many events may be taken: so many a second on average, in bursts more. Pure. */
#ifndef DRDOTNET_EVENT_BUDGET_H
#define DRDOTNET_EVENT_BUDGET_H

#include <stdint.h>

struct event_budget {
	int64_t credit, most; /* events that may still be taken at once; never more than `most` */
};

/* `events` were taken in the last `round_ns`, in which `allowed` might be. Returns for how long none is to be taken until the average is kept; 0: go on. */
uint64_t event_budget_spend(struct event_budget *b, uint64_t events, uint64_t allowed, uint64_t round_ns);

#endif
