#include "agent/profilers/requests/latency_histogram.h"

#include <math.h>

#define LEAST_NS 1000

static size_t latency_bucket(uint64_t ns)
{
	uint64_t us = ns / LEAST_NS;
	if (us < LATENCY_STEPS)
		return us;
	unsigned power = 63 - (unsigned)__builtin_clzll(us); /* at least 4 */
	size_t at = (size_t)(power - 3) * LATENCY_STEPS + ((us >> (power - 4)) - LATENCY_STEPS);
	return at < LATENCY_BUCKETS ? at : LATENCY_BUCKETS - 1;
}

uint64_t latency_histogram_start(size_t bucket)
{
	if (bucket < LATENCY_STEPS)
		return bucket * LEAST_NS;
	size_t power = bucket / LATENCY_STEPS + 3, step = bucket % LATENCY_STEPS;
	return ((uint64_t)(LATENCY_STEPS + step) << (power - 4)) * LEAST_NS;
}

void latency_histogram_add(struct latency_histogram *h, uint64_t ns)
{
	h->buckets[latency_bucket(ns)]++;
	h->count++;
	h->sum_ns += ns;
	if (ns > h->longest_ns)
		h->longest_ns = ns;
}

void latency_histogram_merge(struct latency_histogram *h, const struct latency_histogram *from)
{
	for (size_t i = 0; i < LATENCY_BUCKETS; i++)
		h->buckets[i] += from->buckets[i];
	h->count += from->count;
	h->sum_ns += from->sum_ns;
	if (from->longest_ns > h->longest_ns)
		h->longest_ns = from->longest_ns;
}

static uint64_t middle_of(size_t bucket)
{
	return (latency_histogram_start(bucket) + latency_histogram_start(bucket + 1)) / 2;
}

double latency_histogram_times(const struct latency_histogram *h, latency_times_fn *times, const void *ctx)
{
	double sum = 0;
	for (size_t i = 0; i < LATENCY_BUCKETS; i++)
		sum += h->buckets[i] ? (double)h->buckets[i] * times(ctx, middle_of(i)) : 0;
	return sum;
}

uint64_t latency_histogram_add_times(struct latency_histogram *h, const struct latency_histogram *from, latency_times_fn *times, const void *ctx)
{
	uint64_t all = 0;
	double due = 0.5;
	for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
		if (!from->buckets[i])
			continue;
		uint64_t middle = middle_of(i);
		due += (double)from->buckets[i] * times(ctx, middle);
		uint64_t whole = due < UINT32_MAX - h->buckets[i] ? (uint64_t)due : UINT32_MAX - h->buckets[i];
		due -= (double)whole;
		h->buckets[i] += (uint32_t)whole;
		h->sum_ns += whole * middle;
		all += whole;
	}
	h->count += all;
	return all;
}

/* The middle of its bucket, and never beyond the longest. */
uint64_t latency_histogram_quantile(const struct latency_histogram *h, double part)
{
	uint64_t due = (uint64_t)ceil(part * (double)h->count), sum = 0;
	for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
		sum += h->buckets[i];
		if (!sum || sum < due)
			continue;
		uint64_t middle = middle_of(i);
		return middle < h->longest_ns ? middle : h->longest_ns;
	}
	return 0;
}
