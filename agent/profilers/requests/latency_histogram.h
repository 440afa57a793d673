/* How long things took: counts by length, 16 steps to each doubling from a microsecond on, so that a quantile is right to 3%. Plain data; pure. */
#ifndef DRDOTNET_LATENCY_HISTOGRAM_H
#define DRDOTNET_LATENCY_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define LATENCY_STEPS 16
#define LATENCY_BUCKETS (36 * LATENCY_STEPS) /* the last one begins at 19 hours */

struct latency_histogram {
	uint32_t buckets[LATENCY_BUCKETS];
	uint64_t count, sum_ns, longest_ns;
};

void latency_histogram_add(struct latency_histogram *h, uint64_t ns);
void latency_histogram_merge(struct latency_histogram *h, const struct latency_histogram *from);
/* Adds those of `from` as often as `times(ctx, length)` says; what is left of a whole one goes to the next bucket. Returns how many. */
typedef double latency_times_fn(const void *ctx, uint64_t ns);
uint64_t latency_histogram_add_times(struct latency_histogram *h, const struct latency_histogram *from, latency_times_fn *times, const void *ctx);
/* How often in all. */
double latency_histogram_times(const struct latency_histogram *h, latency_times_fn *times, const void *ctx);
/* The length that a part (0 to 1) of all are not longer than; 0: there are none. */
uint64_t latency_histogram_quantile(const struct latency_histogram *h, double part);
uint64_t latency_histogram_start(size_t bucket); /* the shortest length in it */

#endif
