/* The other ends of connections that the process has made, and when they owed it an answer: looks, in the order of time. Bounded. One thread. */
#ifndef DRDOTNET_REQUEST_PEERS_H
#define DRDOTNET_REQUEST_PEERS_H

#include "common/base/buf.h"
#include "common/proto/channel_requests.h"

#include <stddef.h>

#define PEERS_MOST 256u
#define PEER_LOOKS_MOST (1u << 18)
#define PEER_ROWS_MOST (1u << 20)
#define PEERS_AT_ONCE 64u

struct peer_name {
	uint8_t address[CHANNEL_PEER_ADDRESS];
	uint16_t port;
};

struct peer_row { /* at a look, of one that owed an answer, or did at the look before */
	uint64_t sent_ns, received_ns; /* about: the last time */
	uint64_t asked;                /* segments */
	uint16_t peer;
	uint16_t flags;
};

struct peer_look {
	uint64_t at_ns;
	uint32_t first_row;
};

struct request_peers {
	struct peer_name names[PEERS_MOST];
	size_t name_count;
	struct peer_look *looks; /* by time */
	size_t look_count, look_cap;
	struct peer_row *rows;
	size_t row_count, row_cap;
};

/* One that is not after the last one is left out, and so is what finds no room. */
void request_peers_look(struct request_peers *x, uint64_t at_ns, const struct channel_request_peer *list, size_t count);
void request_peers_fini(struct request_peers *x);

/* The first look after `at_ns`. */
size_t request_peers_after(const struct request_peers *x, uint64_t at_ns);
/* The rows of a look: up to this one. */
size_t request_peers_rows_end(const struct request_peers *x, size_t look);

/* "127.0.0.1:6379", "[::1]:6379". Into an empty buffer. */
void request_peers_name(const struct peer_name *n, struct buf *out);
/* What is at such a port as a rule, "Redis"; NULL: not known. */
const char *request_peers_usual(uint16_t port);
/* What a method of a client of such a server is for, by its name: "Redis" of "StackExchange.Redis.RedisDatabase.StringGet"; NULL: it is none that is known. */
const char *request_peers_of_method(const char *method);

#endif
