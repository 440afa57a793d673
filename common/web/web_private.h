/* Private to the web server's files: web_server.c (life, network thread), web_conn.c (one connection's requests), web_answer.c (what a
 * handler answers), web_send.c (how it is sent), web_events.c (wakers), web_request.c, web_route.c. */
#ifndef DRDOTNET_WEB_PRIVATE_H
#define DRDOTNET_WEB_PRIVATE_H

#include "common/web/web_limits.h"
#include "common/web/web_pool.h"
#include "common/web/web_server.h"

#include <libwebsockets.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>

#define WEB_MAX_PARAMS 4
#define WEB_MAX_QUERY 16
#define WEB_HEADERS_MAX_BYTES 32768 /* with what gateways and their sign-ins add: cookies of 4 KiB, several of them */
#define WEB_CHUNK_BYTES 65536 /* read from a stream at a time */
#define WEB_PIECE_BYTES 16384 /* given to lws at a time */
#define WEB_EVENT_MAX_BYTES (1024 * 1024)

struct web_pair {
	char *name, *value;
};

struct web_request {
	enum web_method method;
	bool head, http10;
	char *path;
	char *headers[WEB_HEADERS];
	struct web_pair params[WEB_MAX_PARAMS], query[WEB_MAX_QUERY];
	size_t param_count, query_count;
	struct buf body;
	int64_t body_expected; /* 0: none */
};

enum web_body_kind { WEB_BODY_NONE, WEB_BODY_BYTES, WEB_BODY_STREAM, WEB_BODY_EVENTS };

/* What is to be sent. The worker's while a handler runs, then the network thread's. */
struct web_response {
	struct web_server *server;
	struct web_exchange *exchange;
	unsigned status;
	struct buf headers;    /* "name: value\n" */
	char *media_type;
	enum web_body_kind kind;
	char *owned;           /* of WEB_BODY_BYTES, or NULL for static ones */
	const char *bytes;
	int64_t size;          /* -1: not known */
	struct web_stream stream;
	struct web_events events;
};

struct web_waker {
	pthread_mutex_t lock;
	int refs;
	struct web_server *server;     /* NULL: the exchange has ended */
	bool waiting;                  /* in the server's list */
	struct web_waker *next;
	struct web_exchange *exchange; /* network thread only; NULL when it has ended */
};

enum web_task { WEB_TASK_HANDLE, WEB_TASK_READ, WEB_TASK_NEXT };

/* One request with its answer. The network thread's, but for what a task works on while `busy`. */
struct web_exchange {
	struct web_server *server;
	struct web_conn *conn;         /* NULL: the connection has ended */
	const struct web_route *route;
	struct web_request request;
	struct web_response response;
	struct web_waker *waker;
	enum web_task task;
	bool busy, again;              /* again: another next() is due */
	bool finished;                 /* stream or events: nothing more comes */
	bool failed;
	struct buf chunk;              /* read from the stream or events, not yet given to lws */
	struct web_exchange *done_next, *prev, *next;
};

/* Zeroed by lws with the connection; used again for each request on it. */
struct web_conn {
	struct lws *wsi;
	struct web_server *server;
	struct web_exchange *exchange; /* NULL: none under way */
	int64_t deadline_ms;           /* of the body, then of the answer; 0: none */
	int64_t waiting_since_ms;      /* for the reader to take something; 0: not waiting */
	int64_t quiet_since_ms;        /* of a stream of events */
	int64_t sent;                  /* of the answer's body */
	bool body_due, headers_sent, close_after, all_sent;
};

/* Whose a connection is. lws forgets the pointer that it was given for it before it says that the connection is gone. */
struct web_peer {
	struct lws *wsi;
	struct web_client *client;
	UT_hash_handle hh;
};

struct web_server {
	struct web_server_config config;
	struct web_route *routes;
	size_t route_count, route_cap;
	struct web_pool *pool;
	struct web_limits limits;      /* network thread */
	struct web_peer *peers;        /* network thread; all connections */
	struct web_client *arriving;   /* between lws's filter and the connection's making */

	struct lws_context *context;
	struct lws_vhost *vhost;
	struct lws_protocols protocols[2];
	SSL_CTX *tls;                  /* the vhost's; borrowed. NULL: plain */
	struct err tls_error;
	pthread_t thread;
	bool thread_started;
	atomic_bool stopping;

	pthread_mutex_t lock;          /* of what follows */
	struct web_exchange *done_first, *done_last;
	struct web_waker *woken;
	char *new_cert, *new_key;
	size_t event_streams;

	struct web_exchange *exchanges; /* network thread; all of them */
};

static inline struct web_server *web_server_of(struct lws *wsi)
{
	return lws_context_user(lws_get_context(wsi));
}

void web_server_count(struct web_server *s, enum web_event event, unsigned status);

/* web_conn.c: the lws protocol. */
int web_conn_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len);
/* Network thread: a task of this exchange has ended; there is something to be asked of it. */
void web_conn_done(struct web_exchange *x);
void web_conn_woken(struct web_exchange *x);
/* When the reader takes something, web_send goes on. */
void web_conn_want_write(struct web_conn *c);
/* What was read is sent: what is to be done for more of it? */
void web_conn_go_on(struct web_conn *c);
/* The answer is sent. What a callback returns. */
int web_conn_finish(struct web_conn *c);

/* web_exchange.c */
struct web_exchange *web_exchange_new(struct web_server *s, struct web_conn *c);
int web_exchange_submit(struct web_exchange *x, enum web_task task);
void web_exchange_drop(struct web_exchange *x); /* the connection is no longer interested */
void web_exchange_end_all(struct web_server *s);

/* web_send.c: from a writable callback. -1: the connection must end. */
int web_send(struct web_conn *c);

/* web_request.c */
int web_request_read(struct web_request *q, struct lws *wsi, const char *path);
void web_request_fini(struct web_request *q);
int web_request_add_query(struct web_request *q, const char *fragment);

/* web_answer.c */
void web_response_init(struct web_response *r, struct web_exchange *x);
void web_response_fini(struct web_response *r); /* not stream and events */
const char *web_status_title(unsigned status);

/* web_events.c */
struct web_waker *web_waker_new(struct web_exchange *x);
void web_waker_end(struct web_waker *w); /* network thread */
void web_waker_deliver(struct web_server *s);

#endif
