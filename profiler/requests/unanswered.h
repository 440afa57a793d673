/* Connections to the process's own ports on which the client has spoken last: over HTTP/1.1, requests in flight, whenever they began. The kernel knows when
 * each side of a connection was last heard of (TCP_INFO). Own thread. */
#ifndef DRDOTNET_UNANSWERED_H
#define DRDOTNET_UNANSWERED_H

#include <stdbool.h>
#include <stdint.h>

struct unanswered {
	uint32_t connections; /* clients' words on them are older than the session, and nothing was sent after them */
	uint64_t oldest_ns;   /* age of the oldest */
};

/* What the kernel says of one connection: so many ms ago. Pure. */
bool unanswered_waits(uint64_t received, uint64_t sent, uint32_t last_received_ms, uint32_t last_sent_ms);
/* `began_ns`: when the session began, on the clock of now_ns(). */
void unanswered_find(uint64_t began_ns, struct unanswered *out);

#endif
