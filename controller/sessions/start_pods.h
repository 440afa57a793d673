/* The pods that a session's target describes and that are bound to a node, as the API server tells of them: a watch for as long as the session waits for
 * the next of their containers to start. A pod is bound before the kubelet makes its first container, so its node's agent can be told in time. Its own
 * thread and connection for each. */
#ifndef DRDOTNET_START_PODS_H
#define DRDOTNET_START_PODS_H

#include "common/api/session_spec.h"
#include "controller/kube/kube_config.h"

struct start_pods;

/* From the watch's thread. */
struct start_pods_callbacks {
	void *ctx;
	void (*list_begin)(void *ctx, const char *key);
	void (*list_end)(void *ctx, const char *key); /* what was not told of since the begin is gone */
	void (*pod)(void *ctx, const char *key, const char *uid, const char *node, bool gone);
};

/* `config` outlives it; all else is copied. The callbacks may come before it returns. */
struct start_pods *start_pods_new(const struct kube_config *config, const char *key, const char *namespace, const struct session_target *t,
				  const struct start_pods_callbacks *callbacks, struct err *e);

/* Waits for a callback that is under way: not with a lock that those take. NULL is taken. */
void start_pods_free(struct start_pods *p);

#endif
