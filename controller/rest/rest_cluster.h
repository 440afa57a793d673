/* The REST API's backend for a cluster (rest_backend.h). Lists come from the controller's index after a review of the caller's rights;
 * everything else is asked of the API server with the caller's own token, so that it decides. Reports are read by the controller, whose
 * keys of the stores nobody else gets to see. Any thread. */
#ifndef DRDOTNET_REST_CLUSTER_H
#define DRDOTNET_REST_CLUSTER_H

#include "common/rest/rest_backend.h"
#include "controller/link/agent_hub.h"
#include "controller/kube/kube_config.h"
#include "controller/store/object_store.h"
#include "controller/link/process_query.h"
#include "controller/sessions/session_index.h"

struct rest_cluster;

/* All is borrowed and outlives the backend. */
struct rest_cluster_config {
	const struct kube_config *kube;
	struct session_index *index;
	struct process_queries *processes;
	struct agent_hub *hub;
	const struct object_stores *stores; /* NULL: none */
	bool (*ready)(void *ctx, struct buf *why); /* are the sessions known? */
	void *ready_ctx;
	bool everywhere; /* sessions of all namespaces are served */
};

struct rest_cluster *rest_cluster_new(const struct rest_cluster_config *c);
void rest_cluster_backend(struct rest_cluster *c, struct rest_backend *out);

/* Cancels what waits for the API server or a store. */
void rest_cluster_stop(struct rest_cluster *c);
void rest_cluster_free(struct rest_cluster *c); /* when no request is under way any more */

#endif
