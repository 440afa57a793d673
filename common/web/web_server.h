/* An HTTP/1.1 server: one libwebsockets context in a thread of its own, and a bounded pool of worker threads. The network thread
 * reads a whole request (bounded), a worker runs the route's handler, which may block, and the network thread sends the answer.
 * An answer is bytes, a stream that is pulled as fast as the reader takes it, or a stream of server-sent events, which holds no worker
 * while nothing happens.
 *
 * Bounded: connections, in all and for each client address; the time for TLS and headers, for a body, between two requests and for a
 * whole answer; sizes of headers and bodies; requests for each client address and second; requests that wait for a worker; subscribers
 * of events. Every answer carries the headers that keep browsers from guessing, caching and framing (web_send.c).
 *
 *   struct web_server *s = web_server_new(&config);
 *   web_server_route(s, &(struct web_route){WEB_GET, "/api/things/{id}", get_thing, ctx});
 *   web_server_start(s, e);     requests are taken when this returns
 *   web_server_free(s);         ends all connections and joins */
#ifndef DRDOTNET_WEB_SERVER_H
#define DRDOTNET_WEB_SERVER_H

#include "common/base/err.h"
#include "common/web/web_answer.h"
#include "common/web/web_events.h"
#include "common/web/web_request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct web_server;

/* What is counted; the owner turns it into its metrics. */
enum web_event {
	WEB_EVENT_REQUEST,             /* answered; `status` says how */
	WEB_EVENT_REFUSED_CONNECTION,  /* too many, in all or of one address */
	WEB_EVENT_RATE_LIMITED,
	WEB_EVENT_TIMED_OUT,           /* a connection that was too slow */
	WEB_EVENT_OVERLOADED,          /* no room in the workers' queue */
};

struct web_server_config {
	const char *bind_address;       /* NULL: all */
	int port;                       /* 0: any free one (web_server_port) */
	const char *cert_pem, *key_pem; /* NULL: plain HTTP. The chain with the leaf first; may be replaced later */
	/* Zero gives the default in brackets. */
	size_t max_connections;         /* [512] */
	size_t max_connections_per_client; /* by address, an IPv6 one by its /64 [128] */
	size_t max_body_bytes;          /* [256 KiB]; more is answered with 413 */
	size_t max_event_streams;       /* [256] */
	size_t workers;                 /* [8] */
	size_t max_queued;              /* requests that wait for a worker [256] */
	int headers_timeout_s;          /* [10] for TLS and headers */
	int body_timeout_s;             /* [15] for a request's body */
	int idle_timeout_s;             /* [30] between two requests */
	int answer_timeout_s;           /* [600] for a whole answer, but for events */
	int stall_timeout_s;            /* [30] a reader that takes nothing */
	int keep_alive_s;               /* [15] between comments on a quiet stream of events */
	double requests_per_second;     /* [50] of one address; negative: no limit */
	double request_burst;           /* [200] */
	/* Network thread, must not block: may a request name this host (the Host header, port included)? Else it is answered with 421. NULL: any. */
	bool (*host_allowed)(void *ctx, const char *host);
	void *host_ctx;
	/* Any of the server's threads, must not block; NULL: nobody counts. */
	void (*count)(void *ctx, enum web_event event, unsigned status);
	void *count_ctx;
};

/* The server ----------------------------------------------------------------------------------------------------- */

typedef void web_handler(void *ctx, const struct web_request *q, struct web_response *r);

struct web_route {
	unsigned methods;    /* enum web_method, or'ed. Others get 405 with Allow */
	const char *pattern; /* "/api/sessions/{id}/reports/{pod}/{file}"; copied. "{..}" is one segment */
	web_handler *handler; /* worker thread */
	void *ctx;
	bool any_media_type; /* else a write must be application/json (415) */
};

/* Strings of the configuration are copied. */
struct web_server *web_server_new(const struct web_server_config *c);

/* Before the start. Patterns with more fixed segments come first where two match. */
void web_server_route(struct web_server *s, const struct web_route *route);

/* ERR_RETRY: the port is taken; ERR_INVALID: certificate and key. */
int web_server_start(struct web_server *s, struct err *e);

int web_server_port(const struct web_server *s);

/* Any thread: new connections get this certificate, those that exist go on. ERR_INVALID when chain and key do not belong together. */
int web_server_set_certificate(struct web_server *s, const char *cert_pem, const char *key_pem, struct err *e);

/* Handlers and streams that are at work are waited for; then all connections end. NULL is taken. */
void web_server_free(struct web_server *s);

#endif
