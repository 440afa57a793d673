/* Pods as far as a session needs them: listed or got when it does, never cached. */
#ifndef DRDOTNET_PODS_H
#define DRDOTNET_PODS_H

#include "common/api/session_spec.h"
#include "common/link/link_msg.h"
#include "controller/kube/container_end.h"
#include "controller/kube/kube_client.h"
#include "controller/kube/workload.h"

#define PODS_MAX 1000 /* candidates looked at; the rest is ignored and said so in a log line */

struct pod_info {
	char name[254], uid[40], node[254];
	char workload[WORKLOAD_TEXT_SIZE];
	int64_t created_wall_ms;
	bool running, ready, deleting; /* running: or one of its init containers runs */
	int64_t ready_wall_ms;     /* since then, to the second; 0: it is not */
	int64_t started_wall_ms;   /* the newest of its containers that run; 0: not known */
	bool over;                 /* has ended or is being deleted, and nobody makes another one of its name */
	struct link_container *containers; /* the running ones of all kinds (init, sidecar and ephemeral containers, too), LINK_MAX_CONTAINERS at most; owned */
	size_t container_count;
	/* for the choice */
	bool linked;               /* an agent is linked from the node */
	int64_t load;              /* of the resource that the profiler is about; -1: unknown */
	char occupied_by[254];     /* the session that profiles its process, or is about to; "": none */
	int64_t occupied_until_wall_ms; /* 0: not known yet */
};

void pod_info_fini(struct pod_info *p);

/* Pure. */
void pod_info_from_json(const json_t *pod, struct pod_info *out);

/* The labelSelector query: a new string. */
char *pods_selector_text(const struct label_requirement *r, size_t count);

/* How long after the start of its newest container it became ready; -1: it has not, or that is not known. Pure. */
int64_t pod_ready_after_ms(const struct pod_info *p);

struct pod_list {
	struct pod_info *items;
	size_t count, cap;
	size_t matched;  /* all pods that the target describes, in any state */
	size_t excluded_not_running, excluded_not_ready;
};
void pod_list_fini(struct pod_list *l);

/* The pods of the namespace that the target describes and that may be profiled: running, not being deleted, and, when chosen by
 * a selector, ready. Empty: *reason says why (NoPodsMatched, PodNotFound, PodNotRunning, PodNotReady; PodGone: waiting is of no use). */
int pods_find(struct kube_client *c, const char *namespace, const struct session_target *t, struct pod_list *out, const char **reason, struct err *e);

/* The pod of this uid, in any state, if the target describes it: 1, filled; 0: it does not. */
int pods_find_uid(struct kube_client *c, const char *namespace, const struct session_target *t, const char *uid, struct pod_info *out, struct err *e);

/* ERR_NOT_FOUND (PodGone) when there is none of this name, or it is another one (another uid). */
int pods_get(struct kube_client *c, const char *namespace, const char *name, const char *uid, struct pod_info *out, struct err *e);

/* How the container of this id has ended: 1, filled; 0: the pod's status does not tell (yet). As pods_get(). */
int pods_container_end(struct kube_client *c, const char *namespace, const char *name, const char *uid, const char *container_id,
		       struct container_end *out, struct err *e);

/* How many of the first `wanted` are taken: those that no session occupies, if there are any with an agent. Of ranked pods. Pure. */
size_t pods_take(const struct pod_list *l, size_t wanted);

/* Best first: with an agent, then those that no session occupies, of the others the one that is free first, then the busiest, then the newest, then by
 * name. Pure. */
void pods_rank(struct pod_list *l);

#endif
