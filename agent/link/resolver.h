/* Resolves one host name now and then in a thread of its own, because getaddrinfo blocks. */
#ifndef DRDOTNET_RESOLVER_H
#define DRDOTNET_RESOLVER_H

#include "common/base/err.h"

#include <stddef.h>
#include <stdint.h>

#define RESOLVER_MAX_ADDRESSES 8
#define RESOLVER_ADDRESS_SIZE 64 /* numeric, with an IPv6 scope */

struct resolver_result {
	char addresses[RESOLVER_MAX_ADDRESSES][RESOLVER_ADDRESS_SIZE]; /* sorted, without duplicates */
	size_t count;
};

struct resolver;

/* Called in the resolver's thread after each look-up. */
struct resolver_callbacks {
	void *ctx;
	void (*on_result)(void *ctx, const struct resolver_result *r);
	void (*on_failure)(void *ctx, const char *why);
};

/* Failures are logged (once per change) and tried again after a second, later after eight, or the interval where that is less. */
struct resolver *resolver_new(const char *host, int64_t interval_ms, const struct resolver_callbacks *callbacks, struct err *e);
void resolver_free(struct resolver *r); /* may wait for a look-up under way */

/* Any thread: look again now (a link broke; but at most once a second). */
void resolver_hurry(struct resolver *r);

#endif
