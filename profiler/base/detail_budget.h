/* Of which collections the details are taken (what made the runtime collect, who asked): of all, as long as they come no more often than the
 * budget allows in the long run; beyond that of those in windows of time that come at random, so that nothing which goes in step with them
 * stays unseen. Details cost several times as much as the rest of what is told of a collection. Pure; own thread.
 *
 * The budget is a store of time: it fills as time goes by, and each detail takes as much from it as makes CHANNEL_STOPS_DETAILS a second. Where
 * collections go by that are rare and that people ask about, a window comes sooner, on credit. */
#ifndef DRDOTNET_DETAIL_BUDGET_H
#define DRDOTNET_DETAIL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define DETAIL_BUDGET_MOST 500   /* details that come at once after a quiet time and are all taken; and those on credit */
#define DETAIL_BUDGET_WINDOW 200 /* that a window begins with, on average: half as many to one and a half times */
#define DETAIL_BUDGET_SOON_NS 1000000000u

struct detail_budget {
	bool open; /* details are taken */
	int64_t store_ns, reopen_ns;
	uint64_t at_ns, taken, closed_ns, random;
};

/* Full, and open. `seed`: anything. */
void detail_budget_init(struct detail_budget *b, uint64_t now_ns, uint64_t seed);
/* `taken`: details since the beginning; `missed`: since none are taken a collection has come of which they are wanted more than of others.
 * Returns whether they are to be taken from now on. */
bool detail_budget_step(struct detail_budget *b, uint64_t now_ns, uint64_t taken, bool missed);

#endif
