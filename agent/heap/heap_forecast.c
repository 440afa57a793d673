#include "agent/heap/heap_forecast.h"

#include "agent/heap/heap_choice.h"
#include "agent/host/cgroup.h"
#include "common/base/clock.h"

#include <poll.h>

#define LOOKS 3      /* at the heap, at most */
#define LOOKS_PART 8 /* of the budget: what is more is kept apart from the walk, and does not count with it */
#define NOT_BY_FAR 4 /* times the budget */
#define LONGER_PART 8 /* of the budget: processor time of a look after the first one */
#define LONGER_US 64000u /* the same where any budget will do */

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

static bool by_far(const struct heap_prediction *p, const struct heap_walk_options *o)
{
	int64_t us = (int64_t)(o->roots == HEAP_ROOTS_EXACT ? p->collection_us : p->walk_us);

	return o->budget_ms && us > NOT_BY_FAR * o->budget_ms * 1000;
}

bool heap_forecast_again(const struct heap_prediction *p, const struct heap_walk_options *o, const struct heap_room *room, unsigned looks)
{
	if (!(p->flags & HEAP_CAN_WALK) || looks >= LOOKS)
		return false;
	if (!p->objects)
		return true;
	return heap_choice_falls_short(p, o, room) && (looks < LOOKS - 1 || !by_far(p, o));
}

struct heap_predict_request heap_forecast_look(const struct heap_walk_options *o, unsigned looks)
{
	uint64_t budget_us = (uint64_t)o->budget_ms * 1000;

	return (struct heap_predict_request){
		.budget_us = budget_us,
		.look_us = !looks ? 0 : budget_us ? budget_us / LONGER_PART : LONGER_US,
	};
}

void heap_forecast_keep_apart(void)
{
	clock_sleep_until_ms(clock_mono_ms() + HEAP_STOPS_APART_MS);
}

int heap_forecast(struct heap_client *c, const struct heap_walk_options *o, const struct heap_surroundings *around, int64_t deadline_ms,
		  struct heap_prediction *out, struct err *e)
{
	uint64_t few_us = o->budget_ms ? (uint64_t)o->budget_ms * 1000 / LOOKS_PART : UINT64_MAX, probes_us = 0;
	unsigned looks = 0;

	do {
		const struct heap_predict_request q = heap_forecast_look(o, looks);
		struct heap_prediction p;
		if (heap_client_predict(c, &q, &p, deadline_ms, e) < 0)
			return -1;
		heap_share_predict(&p, &around->share);
		probes_us += p.probe_us;
		if (p.probe_us > few_us / LOOKS) {
			heap_forecast_keep_apart();
			probes_us = 0;
		}
		if (looks++)
			heap_share_least(out, &p);
		else
			*out = p;
		out->probe_us = probes_us;
	} while (heap_forecast_again(out, o, &around->room, looks));
	return 0;
}
