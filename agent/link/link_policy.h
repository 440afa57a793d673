/* Decisions of the agent's links, apart from any I/O. Pure; any thread. */
#ifndef DRDOTNET_LINK_POLICY_H
#define DRDOTNET_LINK_POLICY_H

#include <stddef.h>
#include <stdint.h>

/* Fencing: an order of an older leader than the newest seen is not obeyed. */
enum link_fence {
	LINK_FENCE_OBEY,  /* the newest leader that is known */
	LINK_FENCE_RAISE, /* a newer one: keep its epoch first, then obey */
	LINK_FENCE_STALE, /* ignore it */
};
static inline enum link_fence link_fence_check(int64_t highest_seen, int64_t epoch)
{
	if (epoch <= 0 || epoch < highest_seen)
		return LINK_FENCE_STALE;
	return epoch > highest_seen ? LINK_FENCE_RAISE : LINK_FENCE_OBEY;
}

#define LINK_BACKOFF_FIRST_MS 500
#define LINK_BACKOFF_MOST_MS 8000

/* A wait, spread over [half, whole] by `random` so that a fleet does not come back at once. */
int64_t link_spread_ms(int64_t wait_ms, uint32_t random);

/* The wait before try number `failures` (1..): doubling, bounded, then spread. A link that had been good starts at 1 again. */
int64_t link_backoff_ms(int failures, uint32_t random);

/* What an attempt at a link met. */
struct link_failure {
	const char *raw;         /* the network library's word; NULL: none */
	const char *certificate; /* why the controller's was not accepted; "": it was, or was not seen */
	const char *closed;      /* what the controller has said when it closed the link; "": nothing */
	const char *address, *server_name;
	int port;
};

/* In words that name what to look at. */
void link_failure_text(const struct link_failure *f, char *out, size_t size);

#endif
