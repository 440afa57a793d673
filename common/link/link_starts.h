/* The message "awaitStarts" of the link (link_msg.h): which pods of your node are sessions waiting for, so that their next container is sampled from
 * its first instruction on? Pure; any thread. */
#ifndef DRDOTNET_LINK_STARTS_H
#define DRDOTNET_LINK_STARTS_H

#include "common/base/err.h"
#include "common/base/jsonx.h"

#include <stddef.h>
#include <stdint.h>

#define LINK_MAX_AWAITED_PODS 512 /* of a node: more than run on one */
#define LINK_AWAIT_MAX_VALID_SECONDS 3600

struct link_awaited_pod {
	char uid[40], namespace[64];
	int64_t frequency_hertz; /* the highest that a session asks for which waits for this pod */
};

/* The node's whole set, in place of the last one. */
struct link_await_starts {
	int64_t valid_seconds;         /* 0: no more, and no pods */
	struct link_awaited_pod *pods; /* owned */
	size_t count;
};

/* The body of a message; ERR_PROTOCOL names the field. What was read until then is in *out, for its owner to finish. */
int link_await_starts_read(const json_t *doc, struct link_await_starts *out, struct err *e);
void link_await_starts_write(json_t *doc, const struct link_await_starts *a);

#endif
