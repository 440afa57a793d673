/* Private to the link server's files: link_server.c (life, thread, vhosts), link_conn.c (agents' WebSockets), http_api.c
 * (reports, with store_call.c) and health_http.c. All of it belongs to the link thread, except link_server_post. */
#ifndef DRDOTNET_LINK_SERVER_PRIVATE_H
#define DRDOTNET_LINK_SERVER_PRIVATE_H

#include "controller/link/agent_hub_private.h"
#include "controller/link/link_server.h"
#include "controller/kube/review_pool.h"
#include "controller/base/time_wheel.h"
#include "controller/kube/token_review.h"

#include <ev.h>
#include <libwebsockets.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>

/* Something that another thread has done for the link thread. The receiver frees it. */
struct link_event {
	void (*deliver)(struct link_server *s, struct link_event *ev);
	struct link_event *next;
};

struct link_conn;
struct http_conn;
struct web_pool;

struct link_server {
	struct link_server_config config;
	struct token_review review;
	struct review_pool *pool;
	struct web_pool *store_pool;   /* what waits for the report store's disk (store_call.h) */
	size_t store_calls;            /* under way; link thread */
	struct agent_hub *hub;

	struct lws_context *context;
	struct lws_vhost *tls_vhost, *health_vhost;
	SSL_CTX *tls;                  /* the TLS vhost's; borrowed */
	pthread_t thread;
	bool thread_started;
	atomic_bool open;              /* agents are let in */
	struct ev_loop *loop;          /* what lws waits with: its own poll() over all descriptors costs each wake as much as there are links */
	struct ev_async stop;
	int64_t ping_after_ms, hang_up_after_ms;
	struct time_wheel looks;       /* at each link, when it may have been quiet for too long */
	lws_sorted_usec_list_t look;   /* at those */

	pthread_mutex_t lock;
	struct link_event *first_event, *last_event;
	bool deaf;                     /* guarded: the context is going; events are delivered when the last threads have ended */

	struct link_conn *conns;       /* hash by id */
	struct http_conn *http_conns;  /* hash by id */
	uint64_t next_id;
	size_t connections;            /* of the TLS port, whatever they have got to */
	struct handshake *handshakes;  /* hash by connection: those of them that have not yet asked for anything */
	size_t health_connections;
	struct err tls_error;          /* of the first certificate */
};

/* Any thread. */
void link_server_post(struct link_server *s, struct link_event *ev);

/* A connection of the TLS port has sent its request: it needs no room among the hand-shakes any longer. */
void link_server_asked(struct lws *wsi);

static inline struct link_server *link_server_of(struct lws *wsi)
{
	return lws_context_user(lws_get_context(wsi));
}

/* lws protocol callbacks. */
int link_conn_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len);
int health_http_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len);
size_t link_conn_size(void);

/* Asks the links that were quiet for long, hangs up on those that stay so. */
void link_conn_look_at_quiet(struct link_server *s);

/* The hub has something for this connection. */
void link_conn_wake(struct link_conn *c);

/* An agent asks where to put a report (agent_hub_transport.upload). */
void link_upload_request(void *ctx, const char *node, const char *job_id, const struct link_report *r);

/* "Authorization: Bearer X" of the request under way into a new string; NULL: none or too long. */
char *link_server_bearer(struct lws *wsi);

#endif
