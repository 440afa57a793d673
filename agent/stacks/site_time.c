#include "agent/stacks/site_time.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define PART_NS 250000000
#define PARTS_MAX 16384 /* more than an hour */
#define ROUND_PARTS 40  /* of a round, at most: the library rests for 2 s at most */
#define MOST_SCALE 3.0  /* in a process that was stopped for most of the time nothing happened then */

void site_time_fini(struct site_time *t)
{
	free(t->parts);
	*t = (struct site_time){0};
}

size_t site_time_round(struct site_time *t, int64_t at_ns, uint64_t covered_ns, double **parts)
{
	int64_t end = at_ns / PART_NS, begin = end - (int64_t)(covered_ns / PART_NS);
	end = end < 0 ? 0 : end >= PARTS_MAX ? PARTS_MAX - 1 : end;
	begin = begin < 0 ? 0 : begin > end ? end : begin;
	begin = end - begin > ROUND_PARTS ? end - ROUND_PARTS : begin;
	if ((size_t)end >= t->part_count) {
		t->parts = mem_realloc(t->parts, (size_t)end + 1, sizeof *t->parts);
		memset(t->parts + t->part_count, 0, ((size_t)end + 1 - t->part_count) * sizeof *t->parts);
		t->part_count = (size_t)end + 1;
	}
	*parts = t->parts + begin;
	return (size_t)(end - begin + 1);
}

/* Counts come for a quarter of a second each: where that is longer than a bucket they are spread. */
void site_time_fill(const struct site_time *t, int64_t duration_ns, double buckets[CPU_TIMELINE_BUCKETS])
{
	double bucket = (double)duration_ns / CPU_TIMELINE_BUCKETS;
	if (bucket <= 0)
		return;
	for (size_t i = 0; i < CPU_TIMELINE_BUCKETS; i++) {
		double from = (double)i * bucket / PART_NS, to = ((double)i + 1) * bucket / PART_NS;
		for (size_t p = (size_t)from; p < t->part_count && (double)p < to; p++) {
			double begin = (double)p > from ? (double)p : from, end = (double)p + 1 < to ? (double)p + 1 : to;
			buckets[i] += t->parts[p] * (end > begin ? end - begin : 0);
		}
	}
}

double site_time_scale(const struct site_time *t, int64_t duration_ns)
{
	double part = t->covered_ns > 0 ? (double)duration_ns / (double)t->covered_ns : 1;
	return part > 1 && part < MOST_SCALE && t->sampled_ns < t->covered_ns ? part : 1;
}

double site_time_sampled_percent(const struct site_time *t)
{
	return t->covered_ns > 0 ? 100 * (double)t->sampled_ns / (double)t->covered_ns : 100;
}
