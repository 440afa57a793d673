/* From samples of allocations to bytes and objects, with an interval of confidence. Pure.
 *
 * AllocationSampled: each byte is drawn with p = 1/102,400, an object of s bytes with 1 - (1 - p)^s. A sample then stands for
 * 1 / (1 - (1 - p)^s) objects: an unbiased estimate (Horvitz and Thompson), as the runtime's own page on randomized allocation sampling
 * has it. AllocationTick: a sample stands for the bytes since the one before.
 *
 * The interval: the estimate has the relative error of n = bytes^2 / variance independent samples, so its ends are quantiles of Gamma
 * distributions with n and n + 1 (Garwood's interval; for small objects n is the number of samples). */
#ifndef DRDOTNET_ALLOC_ESTIMATE_H
#define DRDOTNET_ALLOC_ESTIMATE_H

#include <stdint.h>

#define ALLOC_MEAN_BYTES 102400
#define ALLOC_CONFIDENCE_PERCENT 95
#define ALLOC_EVENT_SAMPLED 303
#define ALLOC_EVENT_TICK 10

struct alloc_estimate { /* zeroed: nothing */
	uint64_t samples;
	double bytes, objects, variance; /* variance: of bytes */
	double seen;                     /* bytes of the sampled objects: at least that was allocated */
};

/* `samples` > 0 of objects of about one size, `size` bytes together; `amount`: of ticks, the bytes that they stand for. */
void alloc_estimate_add(struct alloc_estimate *e, uint32_t event, uint64_t samples, uint64_t size, uint64_t amount);
void alloc_estimate_merge(struct alloc_estimate *e, const struct alloc_estimate *from);
/* What was added by one call stands for `factor` >= 1 times as much: it is what a part of the time happened to see. */
void alloc_estimate_spread(struct alloc_estimate *e, double factor);
/* All of it, and what is not known of it, is `factor` times as much. */
void alloc_estimate_scale(struct alloc_estimate *e, double factor);
/* An estimate as a whole number; what a process lies about may be larger than any. */
static inline uint64_t alloc_whole(double x)
{
	return x > 0 ? x < 9e18 ? (uint64_t)x : (uint64_t)9e18 : 0;
}

double alloc_estimate_low(const struct alloc_estimate *e);
double alloc_estimate_high(const struct alloc_estimate *e); /* of nothing: what could have gone unseen */

#endif
