/* Connections that the process has made, looked at again and again: whose other end owes an answer. It is told of by address and port. Own thread. */
#ifndef DRDOTNET_PEERS_H
#define DRDOTNET_PEERS_H

#include "profiler/base/channel_io.h"
#include "profiler/requests/server_sockets.h"

#define PEERS_MOST 64 /* addresses and ports of one look */

/* What was sent last has no answer yet, as far as the kernel's clock tells. Pure. */
bool peer_owes(const struct tcp_facts *t);
/* Much less came than was sent. Pure. */
bool peer_is_silent(uint64_t sent_segments, uint64_t received_segments);

void peers_reset(void);
/* Tells of a look at those of the last list (server_sockets_list()); of nothing, where there is no such connection. */
void peers_look(struct channel_io *io, uint64_t at_ns);

#endif
