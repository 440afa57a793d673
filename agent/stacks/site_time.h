/* When it happened what a library counts by sites, and how much of the time was sampled. One thread. */
#ifndef DRDOTNET_SITE_TIME_H
#define DRDOTNET_SITE_TIME_H

#include "agent/stacks/cpu_analysis.h"

struct site_time { /* zeroed: empty */
	double *parts; /* what happened, by equal parts of the time since the session's first moment */
	size_t part_count;
	int64_t covered_ns, sampled_ns; /* the counts stand for that much time; so much of it was sampled */
};
void site_time_fini(struct site_time *t);

/* The parts that a round of counts is to be spread over, which ended `at_ns` after the session's first moment (outside: any number): returns how many. They
 * are valid until the next call. */
size_t site_time_round(struct site_time *t, int64_t at_ns, uint64_t covered_ns, double **parts);

/* All that happened, by the buckets of the timeline. */
void site_time_fill(const struct site_time *t, int64_t duration_ns, double buckets[CPU_TIMELINE_BUCKETS]);

/* A session may end while the library rests: how many times what was counted that bit stands for, too. */
double site_time_scale(const struct site_time *t, int64_t duration_ns);

double site_time_sampled_percent(const struct site_time *t);

#endif
