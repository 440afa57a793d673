/* The controller without its doors: list-watch, cache, queue, workers, leader election and events, put together. The link
 * server (agent_hub.h) and the HTTP endpoints stand beside it and are wired in controller_main.c.
 *
 * Life cycle: controller_new, controller_hub_callbacks (to make the hub with), controller_start, controller_stop, controller_free. */
#ifndef DRDOTNET_CONTROLLER_H
#define DRDOTNET_CONTROLLER_H

#include "controller/link/agent_hub.h"
#include "controller/kube/kube_config.h"
#include "controller/link/process_query.h"
#include "controller/sessions/session_index.h"
#include "controller/sessions/session_status.h"
#include "controller/triggers/triggers.h"

#define CONTROLLER_MAX_NAMESPACES 32
#define CONTROLLER_MAX_WORKERS 64
#define CONTROLLER_MAX_PODS 200
#define CONTROLLER_MAX_PODS_PER_NODE 4

struct controller;

struct controller_options {
	const struct kube_config *kube;   /* outlives the controller */
	const char *namespaces;           /* "a,b"; NULL or "": all */
	const char *lease_namespace, *lease_name;
	int worker_count;
	bool no_starts;                   /* sessions that wait for a container to start are refused */
	int64_t max_pods, max_pods_per_node; /* profiled at once; 0: CONTROLLER_MAX_PODS[_PER_NODE] */
	int64_t watch_stall_ms;           /* see kube_watch.h; 0: its default */
	int watch_page_limit;             /* the same */
	int64_t watch_stream_above;       /* the same */
	session_report_url_fn *report_url; /* may be NULL */
	void *report_url_ctx;
	const struct object_stores *stores; /* that sessions may name, and whose reports are compared with a baseline's; NULL: none */
	struct session_index *index;       /* is fed by the watch; NULL: none */
	struct process_queries *processes; /* gets the agents' answers; NULL: none */
	/* Called in the watch's thread after the index knows of it; must not block. NULL: nobody. */
	void (*on_session)(void *ctx, const char *namespace, const char *name);
	void *on_session_ctx;
};

/* Strings in the options are borrowed for the controller's life. */
struct controller *controller_new(const struct controller_options *o, struct err *e);

/* Starts the watches and waits until the sessions are known (or *stop_fd becomes readable: ERR_CANCELED), so that what
 * agents report finds its session; then starts the workers and the election. `hub` is borrowed and outlives controller_stop. */
int controller_start(struct controller *c, struct agent_hub *hub, int stop_fd, struct err *e);

/* For the triggers' sources; lives as long as the controller. */
struct triggers *controller_triggers(struct controller *c);

/* From the main thread, again after as many ms as it returns: what is due by the clock. Seldom while nothing goes on. */
int64_t controller_tick(struct controller *c);

/* Sets the gauges of what there is now. Any thread. */
void controller_measure(struct controller *c);

/* Ready: sessions are known. If not, `why` (initialised by the caller, may be NULL) gets a line that says so. Any thread. */
bool controller_ready(struct controller *c, struct buf *why);

/* Stops watching and working (steps under way are finished), flushes events, gives the Lease back. */
void controller_stop(struct controller *c);
void controller_free(struct controller *c);

#endif
