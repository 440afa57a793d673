/* Inside of the cluster's backend: rest_cluster.c (callers, namespaces), rest_cluster_sessions.c, rest_cluster_processes.c,
 * rest_cluster_reports.c. */
#ifndef DRDOTNET_REST_CLUSTER_PRIVATE_H
#define DRDOTNET_REST_CLUSTER_PRIVATE_H

#include "controller/kube/kube_pool.h"
#include "controller/rest/rest_access.h"
#include "controller/rest/rest_cluster.h"

#define REST_CANDIDATES_MAX 64 /* namespaces that are looked at for a caller who may not see all */

struct rest_cluster {
	struct rest_cluster_config config;
	struct rest_access *access;
	struct kube_pool *own;     /* with the controller's rights: reviews */
	struct kube_pool *callers; /* with the caller's token */
	int cancel_fd;             /* readable: stop reading from stores */
};

/* The caller's own client; give it back to c->callers. NULL with *p set. */
struct kube_client *rest_cluster_as_caller(struct rest_cluster *c, const struct rest_caller *caller, struct rest_problem *p);

/* What the API server said to the caller. Returns -1. */
int rest_cluster_refused(struct rest_problem *p, const struct kube_client *k, const struct err *e);

/* 1: allowed; 0: not; -1 with *p set. */
int rest_cluster_allows(struct rest_cluster *c, const struct rest_caller *caller, const struct rest_wish *w, struct rest_problem *p);

/* 403 that names verb, resource and namespace (NULL: all). Returns -1. */
int rest_cluster_forbid(struct rest_problem *p, const struct rest_caller *caller, const struct rest_wish *w);

/* The namespaces in which the caller may list sessions, as far as the controller can guess their names: those of the sessions that it knows
 * and the caller's own. -1 with *p set. Free with rest_cluster_free_names. */
ssize_t rest_cluster_visible(struct rest_cluster *c, const struct rest_caller *caller, char ***out, struct rest_problem *p);
void rest_cluster_free_names(char **names, size_t count);

/* The session by the caller's own right to get it. */
json_t *rest_cluster_session(struct rest_cluster *c, const struct rest_caller *caller, const struct rest_session_id *id, struct rest_problem *p);

int rest_cluster_list(void *ctx, const struct rest_caller *c, const struct rest_list_query *q, json_t **out, struct rest_problem *p);
int rest_cluster_get(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, json_t **out, struct rest_problem *p);
int rest_cluster_create(void *ctx, const struct rest_caller *c, const char *namespace, const char *name, const json_t *spec,
				    json_t **out, struct rest_problem *p);
int rest_cluster_cancel(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, json_t **out,
				    struct rest_problem *p);
int rest_cluster_delete(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, struct rest_problem *p);
int rest_cluster_processes(void *ctx, const struct rest_caller *c, const char *namespace, bool refresh, json_t **out, struct rest_problem *p);
int rest_cluster_report(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, const char *pod, const char *file,
			   struct rest_report *out, struct rest_problem *p);

#endif
