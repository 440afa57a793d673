/* Private to the controller's files: controller.c (life, workers, leadership), controller_watch.c (what the API server tells),
 * controller_links.c (what agents tell). */
#ifndef DRDOTNET_CONTROLLER_PRIVATE_H
#define DRDOTNET_CONTROLLER_PRIVATE_H

#include "controller/sessions/admission.h"
#include "controller/daemon/controller.h"
#include "controller/kube/kube_watch.h"
#include "controller/kube/leader.h"
#include "controller/sessions/orphans.h"
#include "controller/sessions/reconcile.h"
#include "controller/triggers/trigger_observe.h"

#include <pthread.h>
#include <stdatomic.h>

struct worker {
	struct controller *controller;
	struct kube_client *client;
	pthread_t thread;
	bool started;
};

struct controller {
	struct controller_options options;
	char identity[96];
	struct session_cache *cache;
	struct work_queue *queue;
	struct admission *admission;
	struct starts *starts;
	struct reveal_policy *reveal_policy;
	struct triggers *triggers;
	struct trigger_observe *observe;
	struct events *events;
	struct leader *leader;
	struct comparisons *comparisons;
	struct agent_hub *hub;
	struct reconciler reconciler;
	struct kube_watch *watches[CONTROLLER_MAX_NAMESPACES];
	size_t watch_count;
	pthread_mutex_t watches_lock; /* the thread that says whether we are ready looks at them */
	struct worker workers[CONTROLLER_MAX_WORKERS];
	atomic_llong epoch; /* 0: not leading */
	atomic_bool ready;
	int64_t trimmed_ms;
	struct orphans orphans;
};

/* Work for a key; the second: somebody waits for it. `ctx` is the controller. Any thread. */
void controller_enqueue(void *ctx, const char *key);
void controller_enqueue_urgent(void *ctx, const char *key);

/* Starts a watch of the sessions of each namespace, and of the triggers beside it. */
int controller_watch_start(struct controller *c, struct err *e);
/* Until all sessions are known, or *stop_fd becomes readable: ERR_CANCELED. */
int controller_watch_wait(struct controller *c, int stop_fd, struct err *e);

#endif
