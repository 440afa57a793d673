#include "agent/link/link_policy.h"

#include "common/base/clock.h"

#include <stdio.h>
#include <string.h>

int64_t link_spread_ms(int64_t wait_ms, uint32_t random)
{
	return wait_ms / 2 + (int64_t)(random % (uint64_t)(wait_ms / 2 + 1));
}

int64_t link_backoff_ms(int failures, uint32_t random)
{
	return link_spread_ms(clock_doubled_ms(LINK_BACKOFF_FIRST_MS, LINK_BACKOFF_MOST_MS, failures - 1), random);
}

void link_failure_text(const struct link_failure *f, char *out, size_t size)
{
	const char *raw = f->raw ? f->raw : "";
	if (f->certificate[0])
		snprintf(out, size, "the certificate of %s is not accepted: %s (expected for %s, signed by the CA file's authority)", f->address,
			 f->certificate, f->server_name);
	else if (strcmp(f->closed, "TokenRefused") == 0)
		snprintf(out, size, "the controller at %s refuses this agent's token", f->address);
	else if (f->closed[0])
		snprintf(out, size, "the controller at %s closed the link: %s", f->address, f->closed);
	else if (strcmp(raw, "Unable to connect") == 0)
		snprintf(out, size, "no connection to %s port %d: refused, or no way there", f->address, f->port);
	else if (strncmp(raw, "Timed out", 9) == 0)
		snprintf(out, size, "no answer from %s port %d (%s)", f->address, f->port, raw);
	else
		snprintf(out, size, "%s port %d: %s", f->address, f->port, raw);
}
