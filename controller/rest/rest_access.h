/* Who calls, and what may they do? Asks the API server's TokenReview and SubjectAccessReview and believes their answers for a few
 * seconds: kept by the token's SHA-256, never the token; at most so many callers, the oldest goes. Any thread. */
#ifndef DRDOTNET_REST_ACCESS_H
#define DRDOTNET_REST_ACCESS_H

#include "common/base/err.h"
#include "common/base/jsonx.h"
#include "controller/kube/kube_client.h"

#define REST_ACCESS_BELIEVED_MS 10000
#define REST_ACCESS_MAX_CALLERS 256
#define REST_ACCESS_MAX_ANSWERS 128 /* of one caller */

struct rest_access;

struct rest_access *rest_access_new(void);
void rest_access_free(struct rest_access *a);

/* A caller whose token was good a moment ago. */
struct rest_identity {
	unsigned char key[32];
	char *name;   /* "system:serviceaccount:shop:viewer" */
	json_t *user; /* as TokenReview says: username, uid, groups, extra */
};
void rest_identity_free(struct rest_identity *i);

/* ERR_DENIED with code 401 for a token that is not good; other kinds when the API server did not answer. */
struct rest_identity *rest_access_identify(struct rest_access *a, struct kube_client *kube, const char *token, struct err *e);

/* What shall be done to what. namespace NULL: in all namespaces; name may be NULL. */
struct rest_wish {
	const char *verb, *group, *resource, *namespace;
};

/* 1: allowed; 0: not; -1: the API server did not answer. */
int rest_access_allows(struct rest_access *a, struct kube_client *kube, const struct rest_identity *i, const struct rest_wish *w, struct err *e);

/* Pure: the body of a SubjectAccessReview for this user. */
json_t *rest_access_review_body(const json_t *user, const struct rest_wish *w);

#endif
