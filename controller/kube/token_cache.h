/* Reviews of agents' tokens that were good a moment ago, so that a reconnecting fleet does not ask the API server twice.
 * Keyed by the token's SHA-256: the token itself is not kept. Any thread. */
#ifndef DRDOTNET_TOKEN_CACHE_H
#define DRDOTNET_TOKEN_CACHE_H

#include "controller/kube/token_review.h"

#include <stdbool.h>

struct token_cache *token_cache_new(size_t max_entries);
void token_cache_free(struct token_cache *c);

/* False when it is not known, was reviewed too long ago, or has expired. */
bool token_cache_get(struct token_cache *c, const char *token, int64_t now_wall_ms, struct agent_identity *out);

/* When the cache is full, the oldest entry goes. */
void token_cache_put(struct token_cache *c, const char *token, int64_t now_wall_ms, const struct agent_identity *who);

#endif
