#include "agent/link_policy.h"

int64_t link_backoff_ms(int failures, uint32_t random)
{
	int64_t wait = LINK_BACKOFF_FIRST_MS;
	for (int i = 1; i < failures && wait < LINK_BACKOFF_MOST_MS; i++)
		wait *= 2;
	if (wait > LINK_BACKOFF_MOST_MS)
		wait = LINK_BACKOFF_MOST_MS;
	return wait / 2 + (int64_t)(random % (uint32_t)(wait / 2 + 1));
}
