#include "agent/waits/wait_capture.h"

#include <stdlib.h>

void wait_capture_fini(struct wait_capture *c)
{
	cpu_capture_fini(&c->stacks);
	wait_log_free(c->log);
	free(c->sightings);
	free(c->windows);
	*c = (struct wait_capture){0};
}
