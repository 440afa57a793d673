/* Who is calling? Asks the API server's TokenReview and SubjectAccessReview. The calls block, so they run in a review
 * pool's thread (review_pool.h), never in the link thread; the cache may be shared by those threads.
 *
 * An agent's node comes from its token: the extra field "authentication.kubernetes.io/node-name" where the API server adds
 * it (Kubernetes 1.30+), else the spec.nodeName of the pod that the token is bound to, checked by uid. */
#ifndef DRDOTNET_TOKEN_REVIEW_H
#define DRDOTNET_TOKEN_REVIEW_H

#include "common/base/err.h"
#include "common/base/jsonx.h"
#include "controller/kube/kube_client.h"

#include <stdint.h>

#define TOKEN_MAX_BYTES (16 * 1024)
#define TOKEN_REVIEW_CACHE_MS 60000          /* so long is a good review believed */
#define TOKEN_REVIEW_DEFAULT_LIFE_MS 600000  /* of tokens that do not say when they expire */

struct agent_identity {
	char node[254];
	char pod_uid[40];
	int64_t expires_wall_ms;
};

struct token_cache; /* token_cache.h */

struct token_review {
	const char *audience;         /* LINK_TOKEN_AUDIENCE */
	const char *service_account;  /* "namespace:name" of the agents */
	struct token_cache *cache;    /* may be NULL */
};

/* ERR_DENIED with what was wrong (never the token); other kinds when the API server did not answer: try again. */
int token_review_agent(const struct token_review *r, struct kube_client *kube, const char *token, struct agent_identity *out, struct err *e);

/* Does this caller's token (of the API server's own audience) allow `verb` on the session? 0: yes. ERR_DENIED with code 401: unknown
 * caller, 403: not allowed. */
int token_review_access(struct kube_client *kube, const char *token, const char *verb, const char *namespace, const char *session, struct err *e);

/* Pure parts ------------------------------------------------------------------------------------------------------ */

/* What a TokenReview's status says of an agent. The node is "" when the pod must be asked: then pod names it. */
struct reviewed_agent {
	char namespace[64], pod[254], pod_uid[40], node[254];
};
int token_review_parse_agent(const json_t *status, const char *audience, const char *service_account, struct reviewed_agent *out, struct err *e);

/* The "exp" claim of a JWT in ms since the epoch, or -1. Believed only after the API server has vouched for the token. */
int64_t token_review_expiry(const char *token);

#endif
