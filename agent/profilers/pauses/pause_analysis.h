/* From a capture to figures: how long, how often, why, who. Pure; one thread. */
#ifndef DRDOTNET_PAUSE_ANALYSIS_H
#define DRDOTNET_PAUSE_ANALYSIS_H

#include "agent/profilers/pauses/pause_sample.h"

#define PAUSE_HISTOGRAM_STEPS 25 /* 0, 1, 2, 5, 10, ... microseconds, the last: 50 s and longer */
#define PAUSE_SLOWEST_MAX 50

struct pause_spread { /* of a length; nearest rank */
	int64_t p50_ns, p95_ns, p99_ns, max_ns, total_ns;
};

struct pause_sum {
	uint32_t index; /* of what it is the sum, in its table */
	uint32_t count;
	int64_t total_ns, longest_ns;
	uint32_t by_generation[3];
	uint32_t looked; /* of causes and inducers: pauses that the sum is made of; fewer than count where they stand for others */
};

struct pause_analysis {
	const struct pause_capture *capture; /* borrowed */
	struct pause_spread length, suspending, stopped;
	double share_percent; /* of the session's time */
	double per_minute;
	struct pause_sample sample;
	/* The next: those that took the most time first, empty ones left out. */
	struct pause_sum by_reason[PAUSE_REASON_COUNT], by_cause[CAUSE_COUNT];
	size_t reason_count, cause_count;
	struct pause_sum *by_inducer, *by_late; /* late: of the time to suspend */
	size_t inducer_count, late_count;
	struct pause_sum by_generation[3][2];  /* pauses by their oldest collection; [1]: background, both phases with generation 2 */
	struct pause_sum induced;              /* all induced ones */
	struct pause_sum late;                 /* all pauses with a suspension of PAUSE_LATE_NS and more; of the time to suspend */
	uint32_t histogram[PAUSE_HISTOGRAM_STEPS], histogram_suspending[PAUSE_HISTOGRAM_STEPS];
	uint32_t slowest[PAUSE_SLOWEST_MAX];   /* into capture->pauses, longest first */
	size_t slowest_count;
};

void pause_analysis_run(const struct pause_capture *c, struct pause_analysis *out);
void pause_analysis_fini(struct pause_analysis *a);

/* Not all collections were asked why and for whom: by_cause and by_inducer are estimates. */
static inline bool pause_analysis_sampled(const struct pause_analysis *a)
{
	return a->sample.looked < a->sample.collections;
}

/* Lower bound of a step of the histogram. */
int64_t pause_histogram_from_us(size_t step);
double pause_analysis_percent(const struct pause_analysis *a, int64_t ns); /* of the time of all pauses */

/* The method that a stack is known by: the innermost one that is not .NET's own, else the innermost; its frame's index. */
uint32_t pause_stack_method(const struct cpu_capture *stacks, uint32_t stack);

#endif
