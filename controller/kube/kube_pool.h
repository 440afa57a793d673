/* Kubernetes clients for threads that need one for the length of a request: taken, used, given back; a few idle ones keep their
 * connections. Any thread. */
#ifndef DRDOTNET_KUBE_POOL_H
#define DRDOTNET_KUBE_POOL_H

#include "controller/kube/kube_client.h"

struct kube_pool;

/* `kube` outlives the pool. `anonymous`: the clients have no credentials of the configuration; they speak with the token that
 * kube_pool_take is given. */
struct kube_pool *kube_pool_new(const struct kube_config *kube, bool anonymous, int64_t timeout_ms);

/* Cancels the calls under way and lets no other begin. */
void kube_pool_stop(struct kube_pool *p);
void kube_pool_free(struct kube_pool *p); /* when all are given back */

/* `token` is for an anonymous pool only. */
struct kube_client *kube_pool_take(struct kube_pool *p, const char *token, struct err *e);
void kube_pool_give(struct kube_pool *p, struct kube_client *c); /* takes NULL */

#endif
