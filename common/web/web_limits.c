#include "common/web/web_limits.h"

#include "common/base/mem.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

void web_limits_init(struct web_limits *l, size_t max_connections, size_t max_per_client, double per_second, double burst)
{
	*l = (struct web_limits){
		.max_connections = max_connections,
		.max_per_client = max_per_client,
		.per_second = per_second,
		.burst = burst,
	};
}

static void remove_client(struct web_limits *l, struct web_client *c)
{
	HASH_DEL(l->clients, c);
	free(c);
}

void web_limits_fini(struct web_limits *l)
{
	struct web_client *c, *next;
	HASH_ITER(hh, l->clients, c, next)
		remove_client(l, c);
}

static void refill_tokens(const struct web_limits *l, struct web_client *c, int64_t now_ms)
{
	if (now_ms > c->filled_ms)
		c->tokens += (double)(now_ms - c->filled_ms) * l->per_second / 1000;
	c->filled_ms = now_ms;
	if (c->tokens > l->burst)
		c->tokens = l->burst;
}

/* Those that nothing is known of but what a new one starts with. */
static void forget_idle(struct web_limits *l, int64_t now_ms)
{
	struct web_client *c, *next;
	HASH_ITER(hh, l->clients, c, next) {
		refill_tokens(l, c, now_ms);
		if (c->connections == 0 && (l->per_second < 0 || c->tokens >= l->burst))
			remove_client(l, c);
	}
}

static void make_client_key(const struct sockaddr *peer, unsigned char key[9])
{
	memset(key, 0, 9);
	key[0] = peer->sa_family == AF_INET6 ? 6 : 4;
	if (peer->sa_family == AF_INET) {
		memcpy(key + 1, &((const struct sockaddr_in *)peer)->sin_addr, 4);
	} else if (peer->sa_family == AF_INET6) {
		const struct in6_addr *a = &((const struct sockaddr_in6 *)peer)->sin6_addr;
		if (IN6_IS_ADDR_V4MAPPED(a)) {
			key[0] = 4;
			memcpy(key + 1, a->s6_addr + 12, 4);
		} else {
			memcpy(key + 1, a->s6_addr, 8);
		}
	}
}

static struct web_client *find_or_add_client(struct web_limits *l, const unsigned char key[9], int64_t now_ms)
{
	struct web_client *c = NULL;
	HASH_FIND(hh, l->clients, key, 9, c);
	if (c)
		return c;
	if (HASH_COUNT(l->clients) >= WEB_LIMITS_MAX_CLIENTS)
		forget_idle(l, now_ms);
	if (HASH_COUNT(l->clients) >= WEB_LIMITS_MAX_CLIENTS)
		return NULL;
	c = mem_alloc(sizeof *c);
	memcpy(c->key, key, 9);
	c->tokens = l->burst;
	c->filled_ms = now_ms;
	HASH_ADD(hh, l->clients, key, 9, c);
	return c;
}

struct web_client *web_limits_admit(struct web_limits *l, const struct sockaddr *peer, int64_t now_ms)
{
	unsigned char key[9];
	if (l->connections >= l->max_connections)
		return NULL;
	make_client_key(peer, key);
	struct web_client *c = find_or_add_client(l, key, now_ms);
	return c && c->connections < l->max_per_client ? c : NULL;
}

void web_limits_connected(struct web_limits *l, struct web_client *c)
{
	l->connections++;
	c->connections++;
}

void web_limits_disconnected(struct web_limits *l, struct web_client *c)
{
	l->connections--;
	c->connections--;
}

int64_t web_limits_request(struct web_limits *l, struct web_client *c, int64_t now_ms)
{
	if (l->per_second < 0)
		return 0;
	refill_tokens(l, c, now_ms);
	if (c->tokens < 1)
		return (int64_t)((1 - c->tokens) * 1000 / l->per_second) + 1;
	c->tokens -= 1;
	return 0;
}

void web_limits_charge(struct web_limits *l, struct web_client *c, double requests)
{
	if (l->per_second < 0)
		return;
	c->tokens -= requests;
	if (c->tokens < -l->burst)
		c->tokens = -l->burst;
}
