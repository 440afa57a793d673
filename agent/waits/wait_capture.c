#include "agent/waits/wait_capture.h"

#include <stdlib.h>

double wait_capture_scale(const struct wait_capture *c)
{
	int64_t before_ns = c->looked_from_ns > c->started_ns ? c->looked_from_ns - c->started_ns : 0, beside_ns = c->recorded_ns - before_ns;
	return c->looks && beside_ns > 0 ? (double)(c->ended_ns - c->started_ns - before_ns - c->stalled_ns) / (double)beside_ns : 1;
}

double wait_capture_switches(const struct wait_capture *c)
{
	return (double)c->switches_before_looks + wait_capture_scale(c) * (double)(wait_log_switches(c->log) - c->switches_before_looks);
}

void wait_capture_fini(struct wait_capture *c)
{
	cpu_capture_fini(&c->stacks);
	wait_log_free(c->log);
	free(c->sightings);
	free(c->windows);
	pool_sights_fini(&c->queue);
	*c = (struct wait_capture){0};
}
