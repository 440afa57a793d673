/* Clocks of the library. Any context; async-signal-safe. */
#ifndef DRDOTNET_PROFILER_NOW_H
#define DRDOTNET_PROFILER_NOW_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now_of(clockid_t clock)
{
	struct timespec t = {0};
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return now_of(CLOCK_MONOTONIC);
}

#endif
