/* The controller's network side, in one thread of its own around one libwebsockets context:
 *   TLS port:    WebSocket /link for agents (common/link/link_msg.h), PUT /store/... and GET /reports/... (http_api.h);
 *   health port: plain HTTP with /healthz, /readyz and /metrics.
 *
 * Every connection is bounded: in time until TLS and its headers, its token's review and its hello, between its requests and for a
 * whole request; in message size and count; in what waits to be sent; in number, on each of the two ports. Nothing in this thread
 * waits for the API server, nor for a disk: reviews run in a pool (review_pool.h), and so does what reads and writes reports (store_call.h). */
#ifndef DRDOTNET_LINK_SERVER_H
#define DRDOTNET_LINK_SERVER_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "controller/link/agent_hub.h"
#include "controller/kube/kube_config.h"

#include <stdbool.h>
#include <stdint.h>

#define LINK_SERVER_MAX_CONNECTIONS 8192 /* default */

struct object_stores;
struct report_store;
struct link_server;

struct link_server_config {
	const char *bind_address;      /* NULL: all */
	int port;                      /* TLS; 0: any free one (link_server_port) */
	int health_port;               /* plain; 0: any free one; -1: none */
	const char *cert_pem, *key_pem; /* the chain with the leaf first; may be replaced later */
	const struct kube_config *kube; /* outlives the server */
	const char *agent_account;     /* "namespace:name" of the agents' service account */
	size_t max_connections;        /* 0: the default */
	size_t max_handshakes;         /* connections that have not yet sent a request; 0: 512 */
	size_t review_threads;         /* 0: 4 */
	size_t max_store_calls;        /* requests for reports of the own store at once; 0: 512 */
	bool starts_closed;            /* agents are refused until link_server_open() */
	int link_timeout_s;            /* a link that is silent for so long is given up; 0: 35 s */
	int64_t handshake_timeout_ms;  /* from the upgrade to a good review and hello; 0: 15 s */
	int headers_timeout_s;         /* for TLS and a request's headers; 0: 10 s */
	int idle_timeout_s;            /* between two requests of a connection; 0: 30 s */
	int request_timeout_s;         /* a whole upload or download; 0: 300 s */
	struct agent_hub_callbacks callbacks;
	const struct object_stores *stores; /* where agents may put reports; NULL: uploads are denied */
	struct report_store *reports;  /* the controller's own; NULL: /store and /reports are not served */
	/* Link thread, must not block: ready? When not, adds why. NULL: always ready. */
	bool (*ready)(void *ctx, struct buf *why);
	void (*measure)(void *ctx); /* before metrics are told, in the links' thread; NULL: nothing to do */
	void *ready_ctx;            /* of both */
};

/* Starts the thread; connections are accepted when this returns. Strings are copied. */
struct link_server *link_server_new(const struct link_server_config *c, struct err *e);

/* Any thread: lets agents in, where the server started closed. */
void link_server_open(struct link_server *s);

/* Closes all connections and joins. */
void link_server_free(struct link_server *s);

struct agent_hub *link_server_hub(struct link_server *s);
int link_server_port(const struct link_server *s);
int link_server_health_port(const struct link_server *s); /* -1: none */

/* Any thread: new connections get this certificate, those that exist go on. ERR_INVALID when chain and key do not belong together. */
int link_server_set_certificate(struct link_server *s, const char *cert_pem, const char *key_pem, struct err *e);

#endif
