#include "agent/profilers/deadlocks/deadlock_capture.h"

#include <stdlib.h>

void deadlock_capture_reset(struct deadlock_capture *c)
{
	free(c->threads);
	free(c->locks);
	*c = (struct deadlock_capture){.stacks = c->stacks};
}

void deadlock_capture_fini(struct deadlock_capture *c)
{
	deadlock_capture_reset(c);
	cpu_capture_fini(&c->stacks);
}

const uint32_t *deadlock_capture_stack(const struct deadlock_capture *c, uint32_t thread, uint32_t *depth)
{
	uint32_t stack = c->threads[thread].stack;
	*depth = 0;
	if (stack >= c->stacks.stack_count)
		return NULL;
	*depth = c->stacks.stacks[stack].depth;
	return c->stacks.stack_frames + c->stacks.stacks[stack].first;
}
