#include "agent/perf/perf_leave.h"

#include <limits.h>

#define LEAST 8
#define STACKS 128 /* of switches: twice what a ring holds, as below */
#define TALLIES 64 /* of PERF_TALLY_SWITCHES */
#define RENEW_NS 500000000
#define RENEW_PART 4 /* or so much of the limit is used */

void perf_leave_init(struct perf_leave *l, const struct perf_opener *o)
{
	*l = (struct perf_leave){.limit = STACKS, .each = 1};
	if (!o->switches)
		l->limit = UINT64_C(1000000000) / o->period_ns > LEAST ? UINT64_C(1000000000) / o->period_ns : LEAST;
	else if (o->part == PERF_PART_RECORDS)
		*l = (struct perf_leave){.limit = TALLIES, .each = 2 * PERF_TALLY_SWITCHES + 1};
	else if (o->part == PERF_PART_BOTH)
		l->each = 2 * o->switches + 1;
}

void perf_leave_overflow(struct perf_leave *l)
{
	l->used++;
}

void perf_leave_lost(struct perf_leave *l, uint64_t records)
{
	l->lost += records;
	l->used += l->lost / l->each;
	l->lost %= l->each;
}

int perf_leave_due(struct perf_leave *l, int64_t now_ns)
{
	if (l->used == 0 || (l->used < l->limit / RENEW_PART && now_ns - l->granted_ns < RENEW_NS))
		return 0;
	int due = l->used < INT_MAX ? (int)l->used : INT_MAX;
	l->used -= (uint64_t)due;
	l->granted_ns = now_ns;
	return due;
}
