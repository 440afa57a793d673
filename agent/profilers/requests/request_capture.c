#include "agent/profilers/requests/request_capture.h"

void request_capture_fini(struct request_capture *c)
{
	request_log_free(c->log);
	cpu_capture_fini(&c->stacks);
	cpu_capture_fini(&c->cpu);
	cpu_capture_fini(&c->awaits);
	*c = (struct request_capture){0};
}
