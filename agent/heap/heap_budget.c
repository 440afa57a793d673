#include "agent/heap/heap_budget.h"

#include <stdint.h>
#include <unistd.h>

size_t heap_budget_of(size_t most, int percent, const struct cgroup_memory *group)
{
	if (group->limit_bytes <= 0 || group->usage_bytes < 0)
		return most;
	int64_t left = group->limit_bytes - group->usage_bytes - HEAP_BUDGET_RESERVE;
	size_t part = left > 0 ? (size_t)(left / 100 * percent) : 0;
	if (part < HEAP_BUDGET_LEAST)
		part = HEAP_BUDGET_LEAST;
	return part < most ? part : most;
}

size_t heap_budget_wide_of(size_t unlimited, int percent, const struct cgroup_memory *group)
{
	bool limited = group->limit_bytes > 0 && group->usage_bytes >= 0;

	return heap_budget_of(limited ? SIZE_MAX : unlimited, percent, group);
}

static _Atomic int64_t promised;

void heap_budget_promise(int64_t bytes)
{
	promised += bytes;
}

void heap_budget_group(struct cgroup_memory *group)
{
	cgroup_read_memory("/proc", &(struct cgroup_owner){.pid = getpid()}, group);
	if (group->usage_bytes >= 0)
		group->usage_bytes += promised;
}

size_t heap_budget_wide(size_t unlimited, int percent)
{
	struct cgroup_memory group;

	heap_budget_group(&group);
	return heap_budget_wide_of(unlimited, percent, &group);
}

size_t heap_budget(size_t most, int percent)
{
	struct cgroup_memory group;

	heap_budget_group(&group);
	return heap_budget_of(most, percent, &group);
}
