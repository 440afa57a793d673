/* What is known of connections to one host that calls of HTTP wait for: whether they are made while calls wait, or all of a pool are in use. Pure. */
#ifndef DRDOTNET_REQUEST_CONNECTIONS_H
#define DRDOTNET_REQUEST_CONNECTIONS_H

#include "agent/profilers/requests/request_log.h"

struct connection_counts { /* in the whole session, of all requests */
	uint64_t waits;         /* calls that waited for a connection to it */
	uint64_t opened;        /* connections that were made, for whichever call */
	uint64_t calls, failed; /* calls to it */
};

/* Whether the shape is such a wait ("http connection shop.local:8080"); and whether it is a part of making a connection: that, a look-up of its name, ... */
bool request_connections_is_wait(const char *shape);
bool request_connections_is_part(const char *shape);
/* `shape`: of such a wait. The log's trail is sorted or not. */
void request_connections_count(const struct request_log *l, const char *shape, struct connection_counts *out);

#endif
