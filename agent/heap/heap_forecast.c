#include "agent/heap/heap_forecast.h"

#include "agent/host/cgroup.h"
#include "common/base/clock.h"

#include <poll.h>

#define LOOKS 3      /* at the heap, at most */
#define LOOKS_PART 8 /* of the budget: what is more is kept apart from the walk, and does not count with it */
#define NOT_BY_FAR 4 /* times the budget */

static void read_target_cpu(pid_t pid, struct cgroup_cpu *cpu)
{
	*cpu = (struct cgroup_cpu){-1, -1, -1, -1, -1};
	if (pid > 0)
		cgroup_read_cpu("/proc", &(struct cgroup_owner){.pid = pid}, cpu);
}

struct heap_share heap_forecast_share(pid_t pid)
{
	struct cgroup_cpu before, after;

	read_target_cpu(pid, &before);
	if (before.limit_millicores > 0)
		poll(NULL, 0, 2 * HEAP_SHARE_PERIOD_US / 1000);
	read_target_cpu(pid, &after);
	return heap_share_of(&before, &after);
}

bool heap_forecast_again(const struct heap_prediction *p, const struct heap_walk_options *o)
{
	int64_t budget_us = o->budget_ms * 1000;

	if (!(p->flags & HEAP_CAN_WALK))
		return false;
	int64_t us = (int64_t)(o->roots == HEAP_ROOTS_EXACT ? p->collection_us : p->walk_us);
	return !p->objects || (budget_us && us > budget_us && us <= NOT_BY_FAR * budget_us);
}

void heap_forecast_keep_apart(void)
{
	clock_sleep_until_ms(clock_mono_ms() + HEAP_STOPS_APART_MS);
}

int heap_forecast(struct heap_client *c, const struct heap_walk_options *o, const struct heap_share *share, int64_t deadline_ms,
		  struct heap_prediction *out, struct err *e)
{
	uint64_t budget_us = (uint64_t)o->budget_ms * 1000, few_us = budget_us ? budget_us / LOOKS_PART : UINT64_MAX, probes_us = 0;
	struct heap_prediction p;

	for (unsigned looks = 0; looks == 0 || (looks < LOOKS && heap_forecast_again(out, o)); looks++) {
		if (heap_client_predict(c, budget_us, &p, deadline_ms, e) < 0)
			return -1;
		heap_share_predict(&p, share);
		probes_us += p.probe_us;
		if (p.probe_us > few_us / LOOKS) {
			heap_forecast_keep_apart();
			probes_us = 0;
		}
		if (looks)
			heap_share_least(out, &p);
		else
			*out = p;
	}
	out->probe_us = probes_us;
	return 0;
}
