#include "agent/heap/heap_share.h"

#define WAITED_MAX 4 /* times as long as without others; more is chance */

struct heap_share heap_share_of(const struct cgroup_cpu *before, const struct cgroup_cpu *after)
{
	return (struct heap_share){
		.limit_millicores = after->limit_millicores,
		.used_up = before->throttled_periods >= 0 && after->throttled_periods > before->throttled_periods,
	};
}

/* Halves of the limit's part of a period that are left, where the application uses the limit up itself. What can be given up goes by the average; of what
 * cannot, it may be that nothing is left. */
enum { LEFT_FOR_A_WALK = 1, LEFT_FOR_A_COLLECTION = 0 };

/* Its thread runs for the limit's part of each period, and stands for the rest. */
static uint64_t stretch(uint64_t us, const struct heap_share *s, unsigned halves_left)
{
	if (s->limit_millicores <= 0)
		return us;
	uint64_t runs_us = (uint64_t)s->limit_millicores * HEAP_SHARE_PERIOD_US / 1000;
	uint64_t stands_us = runs_us < HEAP_SHARE_PERIOD_US ? HEAP_SHARE_PERIOD_US - runs_us : 0;
	uint64_t left_us = s->used_up ? runs_us / 2 * halves_left : runs_us;
	if (us <= left_us)
		return us;
	return us + (s->used_up ? HEAP_SHARE_PERIOD_US : stands_us) + (us - left_us - 1) / (runs_us ? runs_us : 1) * stands_us;
}

static uint64_t as_crowded_as_the_look(uint64_t us, const struct heap_prediction *p)
{
	if (p->look_us <= p->look_cpu_us)
		return us;
	if (p->look_us >= WAITED_MAX * p->look_cpu_us)
		return WAITED_MAX * us;
	return (uint64_t)((double)us * (double)p->look_us / (double)p->look_cpu_us);
}

void heap_share_predict(struct heap_prediction *p, const struct heap_share *s)
{
	uint64_t crowded_us = as_crowded_as_the_look(p->collection_us, p);

	p->walk_us = stretch(p->walk_us, s, LEFT_FOR_A_WALK);
	p->types_us = stretch(p->types_us, s, LEFT_FOR_A_WALK);
	p->stacks_us = stretch(p->stacks_us, s, LEFT_FOR_A_WALK);
	p->collection_us = stretch(p->collection_us, s, LEFT_FOR_A_COLLECTION);
	if (p->collection_us < crowded_us)
		p->collection_us = crowded_us;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void heap_share_least(struct heap_prediction *p, const struct heap_prediction *other)
{
	if (!other->objects)
		return;
	if (!p->objects) {
		*p = *other;
		return;
	}
	p->walk_us = min_u64(p->walk_us, other->walk_us);
	p->collection_us = min_u64(p->collection_us, other->collection_us);
	p->types_us = min_u64(p->types_us, other->types_us);
	p->stacks_us = min_u64(p->stacks_us, other->stacks_us);
	p->objects = min_u64(p->objects, other->objects);
	p->heap_bytes = min_u64(p->heap_bytes, other->heap_bytes);
}
