/* How long an event goes on without a word of ours: the kernel disables it after so many overflows (PERF_EVENT_IOC_REFRESH), and each one that we have read
 * gives it leave for another. So an event whose reader is stopped, frozen or gets no CPU ends in the kernel, which needs nobody for that; and what it costs the
 * process until then is bounded, whatever the process does. Inherited events have no such end: agent/perf/perf_keeper.h. Pure; one thread. */
#ifndef DRDOTNET_PERF_LEAVE_H
#define DRDOTNET_PERF_LEAVE_H

#include "agent/perf/perf_opener.h"

#include <stdint.h>

struct perf_leave {
	uint64_t limit;     /* overflows that the kernel may have ahead of us */
	uint64_t each;      /* records that it writes for one of them, itself among them */
	uint64_t used;      /* that we know of, since the last grant */
	uint64_t lost;      /* records, not yet an overflow's worth */
	int64_t granted_ns;
};

/* For an event that was opened like this: a second of a CPU's time, which is twice what a ring holds, or twice as many switches as a ring holds. Who is later
 * than that loses most of them anyway. */
void perf_leave_init(struct perf_leave *l, const struct perf_opener *o);

void perf_leave_overflow(struct perf_leave *l);          /* one was read */
void perf_leave_lost(struct perf_leave *l, uint64_t records); /* so many records found no room */

/* How many overflows to grant now (the argument of PERF_EVENT_IOC_REFRESH); 0: none yet. What is returned counts as granted. */
int perf_leave_due(struct perf_leave *l, int64_t now_ns);

#endif
