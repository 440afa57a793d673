#include "common/link/session_cost.h"

#include <jansson.h>

static json_t *number(int64_t n)
{
	return json_integer(n > 0 ? n : 0);
}

json_t *session_cost_to_json(const struct session_cost *c)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "maxPauseMicroseconds", number(c->max_pause_us), "maxWaitMicroseconds",
			 number(c->max_wait_us), "addedCPUMilliseconds", number(c->added_cpu_ms), "agentCPUMilliseconds", number(c->agent_cpu_ms),
			 "droppedSamples", number(c->dropped_samples), "samples", number(c->samples), "blockingCollections",
			 number(c->blocking_collections), "blockingCollectionMicroseconds", number(c->blocking_collections_us));
}
