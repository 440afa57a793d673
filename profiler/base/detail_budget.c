/* Context: own thread. */
#include "profiler/base/detail_budget.h"

#include "common/proto/channel_stops.h"
#include "common/proto/difference.h"

#define DETAIL_NS (1000000000 / CHANNEL_STOPS_DETAILS)
#define MOST_NS ((int64_t)DETAIL_BUDGET_MOST * DETAIL_NS)
#define WINDOW_NS ((int64_t)DETAIL_BUDGET_WINDOW * DETAIL_NS)
#define LEAST_NS (-10 * MOST_NS) /* however many came between two steps: the next window is at most so far away */

void detail_budget_init(struct detail_budget *b, uint64_t now_ns, uint64_t seed)
{
	*b = (struct detail_budget){.open = true, .store_ns = MOST_NS, .at_ns = now_ns, .random = seed};
}

/* Knuth's linear congruential generator (MMIX); its upper bits. 0 to 1,023. */
static WRAPS int64_t chance(struct detail_budget *b)
{
	b->random = b->random * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(b->random >> 54);
}

static void fill_budget(struct detail_budget *b, uint64_t ns)
{
	b->store_ns = ns < (uint64_t)(MOST_NS - b->store_ns) ? b->store_ns + (int64_t)ns : MOST_NS;
}

static void spend_budget(struct detail_budget *b, uint64_t details)
{
	b->store_ns = details < (uint64_t)(b->store_ns - LEAST_NS) / DETAIL_NS ? b->store_ns - (int64_t)details * DETAIL_NS : LEAST_NS;
}

static void close_for_a_while(struct detail_budget *b)
{
	b->open = false;
	b->closed_ns = b->at_ns;
	b->reopen_ns = WINDOW_NS / 2 + WINDOW_NS * chance(b) / 1024;
}

static bool may_open(const struct detail_budget *b, bool missed)
{
	return b->store_ns >= b->reopen_ns || (missed && b->store_ns > -MOST_NS && difference(b->at_ns, b->closed_ns) >= DETAIL_BUDGET_SOON_NS);
}

bool detail_budget_step(struct detail_budget *b, uint64_t now_ns, uint64_t taken, bool missed)
{
	fill_budget(b, difference(now_ns, b->at_ns));
	spend_budget(b, difference(taken, b->taken));
	b->at_ns = now_ns;
	b->taken = taken;
	if (b->open && b->store_ns <= 0)
		close_for_a_while(b);
	else if (!b->open)
		b->open = may_open(b, missed);
	return b->open;
}
