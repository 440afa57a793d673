/* An HTTP/1.1 server: one libwebsockets context in a thread of its own, and a bounded pool of worker threads. The network thread
 * reads a whole request (bounded), a worker runs the route's handler, which may block, and the network thread sends the answer.
 * An answer is bytes, a stream that is pulled as fast as the reader takes it, or a stream of server-sent events, which holds no worker
 * while nothing happens.
 *
 * Bounded: connections, in all and for each client address; the time for TLS and headers, for a body, between two requests and for a
 * whole answer; sizes of headers and bodies; requests for each client address and second; requests that wait for a worker; subscribers
 * of events. Every answer carries the headers that keep browsers from guessing, caching and framing (web_headers.h).
 *
 *   struct web_server *s = web_server_new(&config);
 *   web_server_route(s, &(struct web_route){WEB_GET, "/api/things/{id}", get_thing, ctx});
 *   web_server_start(s, e);     requests are taken when this returns
 *   web_server_free(s);         ends all connections and joins */
#ifndef DRDOTNET_WEB_SERVER_H
#define DRDOTNET_WEB_SERVER_H

#include "common/base/buf.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct web_server;
struct web_request;
struct web_response;
struct web_waker;

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

/* Requests ------------------------------------------------------------------------------------------------------- */

enum web_method { WEB_GET = 1, WEB_POST = 2, WEB_PUT = 4, WEB_PATCH = 8, WEB_DELETE = 16 }; /* HEAD is GET without the body */

enum web_header { WEB_HEADER_AUTHORIZATION, WEB_HEADER_CONTENT_TYPE, WEB_HEADER_IF_NONE_MATCH, WEB_HEADER_HOST, WEB_HEADER_ACCEPT,
		  WEB_HEADER_ACCEPT_ENCODING, WEB_HEADER_ORIGIN, WEB_HEADERS };

/* Borrowed until the handler returns. */
enum web_method web_request_method(const struct web_request *q);
const char *web_request_path(const struct web_request *q); /* percent-decoded, without the query */
const char *web_request_header(const struct web_request *q, enum web_header h); /* NULL: not sent */
const char *web_request_param(const struct web_request *q, const char *name); /* "{name}" of the route's pattern, decoded, never empty */
const char *web_request_query(const struct web_request *q, const char *name); /* the first "name=", decoded; NULL: not there */
const char *web_request_bearer(const struct web_request *q); /* of "Authorization: Bearer ..."; NULL: none */
const char *web_request_client(const struct web_request *q); /* the peer's address */
const void *web_request_body(const struct web_request *q, size_t *len); /* followed by a NUL */
/* The name of a query parameter that is not in the NULL-ended list, or NULL. */
const char *web_request_unknown_query(const struct web_request *q, const char *const *known);

/* Answers: exactly one of web_respond..() in each handler (none: 500) -------------------------------------------- */

/* One more header, before or after web_respond..(). Values with control characters are left out. */
void web_respond_header(struct web_response *r, const char *name, const char *value);

void web_respond(struct web_response *r, unsigned status, const char *media_type, const void *body, size_t len); /* copies */
void web_respond_take(struct web_response *r, unsigned status, const char *media_type, char *body, size_t len);  /* frees body */
/* The bytes outlive the server (an embedded file). */
void web_respond_static(struct web_response *r, unsigned status, const char *media_type, const void *body, size_t len);

/* application/problem+json (RFC 9457): {type, title, status, detail, reason?, field?}; reason and field may be NULL. */
void web_respond_problem(struct web_response *r, unsigned status, const char *reason, const char *field, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* The ETag of what would be sent (quoted here); true: the client has it already, and 304 is the answer that has been made. */
bool web_respond_not_modified(struct web_response *r, const struct web_request *q, const char *tag);

/* Worker threads, one call at a time; may block. */
struct web_stream {
	/* Up to `size` bytes; 0: the end; -1: failed, then the connection is cut so that the answer does not look whole. */
	ssize_t (*read)(void *ctx, void *out, size_t size, struct err *e);
	void (*close)(void *ctx); /* once, whatever happens */
	void *ctx;
};
/* size -1: not known (chunked). */
void web_respond_stream(struct web_response *r, unsigned status, const char *media_type, int64_t size, struct web_stream stream);

/* Server-sent events. Worker threads, one call at a time; may block. */
struct web_events {
	/* Appends what is new, by web_events_append(). Called at once, then some time after each wake. true: the stream ends after this. */
	bool (*next)(void *ctx, struct buf *out);
	void (*close)(void *ctx); /* once; no next afterwards */
	void *ctx;
};
/* Too many subscribers: 503 is answered, close is called, NULL is given. The waker is the caller's own reference: web_waker_unref(). Neither
 * next nor close is called before the handler has returned. */
struct web_waker *web_respond_events(struct web_response *r, struct web_events events);

/* "event: NAME", "data: ..." for each line of data, a blank line. */
void web_events_append(struct buf *out, const char *name, const char *data);

/* Any thread, never blocks: there is something new. Many wakes may become one next(); after the stream's end nothing happens. */
void web_waker_wake(struct web_waker *w);
void web_waker_unref(struct web_waker *w);

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
bool web_server_is_tls(const struct web_server *s);

/* Any thread: new connections get this certificate, those that exist go on. ERR_INVALID when chain and key do not belong together. */
int web_server_set_certificate(struct web_server *s, const char *cert_pem, const char *key_pem, struct err *e);

/* Handlers and streams that are at work are waited for; then all connections end. NULL is taken. */
void web_server_free(struct web_server *s);

#endif
