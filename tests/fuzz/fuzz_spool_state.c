/* The state file of a job, which an agent reads after a restart: a torn disk or another version may have written anything. What is read can
 * be written, and is then read as the same. */
#include "agent/jobs/spool_state.h"

#include "common/base/cleanup.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STATE_MAX (4 << 20)

static void fini(struct link_order *order, struct link_job *job)
{
	struct link_msg with_order = {.type = LINK_MSG_ORDER, .u.order = *order}, with_job = {.type = LINK_MSG_JOB, .u.job = *job};
	link_msg_fini(&with_order);
	link_msg_fini(&with_job);
}

static char *rewrite(const char *text, size_t len)
{
	struct err e = ERR_INIT;
	struct link_order order;
	struct link_job job;
	if (spool_state_decode(text, len, &order, &job, &e) < 0) {
		if (e.kind == ERR_NONE || !e.message[0])
			abort();
		return NULL;
	}
	char *out = spool_state_encode(&order, &job, STATE_MAX, &e);
	if (!out)
		abort();
	fini(&order, &job);
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *once = rewrite((const char *)data, size);
	AUTO_FREE char *twice = once ? rewrite(once, strlen(once)) : NULL;
	if (once && (!twice || strcmp(once, twice) != 0))
		abort();
	return 0;
}
