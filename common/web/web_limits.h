/* What one client may use of a server: connections at once and requests a second, by its address (an IPv6 one by its /64). The number of
 * addresses that are remembered is bounded. Time is an argument. One thread. */
#ifndef DRDOTNET_WEB_LIMITS_H
#define DRDOTNET_WEB_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uthash.h>

#define WEB_LIMITS_MAX_CLIENTS 4096

struct web_client {
	unsigned char key[9];        /* family, then 4 or 8 bytes of the address */
	size_t connections;
	double tokens;
	int64_t filled_ms;
	UT_hash_handle hh;
};

struct web_limits {
	struct web_client *clients;
	size_t connections, max_connections, max_per_client;
	double per_second, burst;    /* per_second < 0: no limit */
};

void web_limits_init(struct web_limits *l, size_t max_connections, size_t max_per_client, double per_second, double burst);
void web_limits_fini(struct web_limits *l);

/* May one more connection of this address be? The client, for web_limits_connected; NULL: no. */
struct web_client *web_limits_admit(struct web_limits *l, const struct sockaddr *peer, int64_t now_ms);
void web_limits_connected(struct web_limits *l, struct web_client *c);
void web_limits_disconnected(struct web_limits *l, struct web_client *c);

/* One more request? 0: yes; else the milliseconds until there may be. */
int64_t web_limits_request(struct web_limits *l, struct web_client *c, int64_t now_ms);

/* It has cost more than one: what looks like guessing gets slower. */
void web_limits_charge(struct web_limits *l, struct web_client *c, double requests);

#endif
