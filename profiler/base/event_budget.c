/* Context: own thread. */
#include "profiler/base/event_budget.h"

#define LONGEST_REST_NS 2000000000u

uint64_t event_budget_spend(struct event_budget *b, uint64_t events, uint64_t allowed, uint64_t round_ns)
{
	allowed += allowed == 0;
	b->credit += (int64_t)allowed - (int64_t)events;
	if (b->credit > b->most)
		b->credit = b->most;
	if (b->credit >= -(int64_t)(allowed / 4))
		return 0; /* a debt so small is not worth an end and a new start */
	double ns = (double)-b->credit * (double)round_ns / (double)allowed;
	b->credit = 0; /* the rest pays for it */
	return ns < LONGEST_REST_NS ? (uint64_t)ns : LONGEST_REST_NS;
}
