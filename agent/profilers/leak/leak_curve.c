#include "agent/profilers/leak/leak_curve.h"

#define LEAST_SAMPLES 6

void leak_curve_add(struct leak_curve *c, int64_t at_ns, uint64_t bytes)
{
	if (++c->skipped < c->every)
		return;
	c->skipped = 0;
	if (c->count == LEAK_CURVE_MAX) { /* every second one goes, and from now on half as many come */
		for (size_t i = 0; i < LEAK_CURVE_MAX / 2; i++)
			c->samples[i] = c->samples[i * 2];
		c->count = LEAK_CURVE_MAX / 2;
		c->every = c->every ? c->every * 2 : 2;
	}
	c->samples[c->count].at_ns = at_ns;
	c->samples[c->count++].bytes = bytes;
}

enum leak_course leak_curve_course(const struct leak_curve *c, uint64_t growth_bytes)
{
	if (c->count < LEAST_SAMPLES || growth_bytes == 0)
		return LEAK_COURSE_UNKNOWN;
	int64_t begin = c->samples[0].at_ns, end = c->samples[c->count - 1].at_ns;
	uint64_t first = c->samples[0].bytes, last = c->samples[c->count - 1].bytes;
	size_t third = 0;
	while (c->samples[third].at_ns < begin + (end - begin) / 3 * 2)
		third++;
	if (last < first + growth_bytes / 2)
		return LEAK_COURSE_UNKNOWN;
	uint64_t before = c->samples[third].bytes;
	return last <= before || last - before < (last - first) / 10 ? LEAK_COURSE_LEVELS : LEAK_COURSE_RISES;
}
