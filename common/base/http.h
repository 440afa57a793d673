/* HTTP over libcurl: a request is a struct, a result is a struct. An `http_client` owns one curl handle (connection
 * reuse, TLS settings) and belongs to one thread; make one per thread. Process-wide set-up: http_global_init() once,
 * in main, before threads. */
#ifndef DRDOTNET_HTTP_H
#define DRDOTNET_HTTP_H

#include "common/base/buf.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct http_tls {
	const char *ca_file;            /* NULL: the system's */
	const char *ca_pem;             /* instead of a file; copied by http_client_new */
	const char *client_cert_file, *client_key_file;
	const char *client_cert_pem, *client_key_pem;
	const char *server_name;        /* verify the certificate for this name; the URL's host when NULL */
	bool insecure_skip_verify;
};

struct http_header {
	const char *name, *value;
};

/* Called with each piece of the body as it arrives; returning -1 ends the transfer (the request then fails with *e as the
 * callback set it, or ERR_CANCELED). */
typedef int http_body_fn(void *ctx, const char *data, size_t len, struct err *e);

struct http_request {
	const char *method;             /* "GET", "PUT", ... */
	const char *url;                /* built with http_url_* so that values are encoded */
	const struct http_header *headers; /* ended by a NULL name */
	const char *bearer_token;       /* NULL: none */
	const void *body;               /* borrowed */
	size_t body_len;
	FILE *body_file;                /* instead of body: body_len bytes from its current position */
	int64_t timeout_ms;             /* whole transfer; 0: none (watch) */
	int64_t stall_timeout_ms;       /* no byte for so long: ERR_TIMEOUT; 0: none */
	int cancel_fd;                  /* eventfd or pipe that becomes readable to cancel, or -1 */
	size_t max_response_bytes;      /* of the collected body; default 8 MiB when 0 */
	http_body_fn *on_body;          /* instead of collecting; only called for 2xx answers */
	void *on_body_ctx;
};

struct http_response {
	int status;                     /* 100..599 */
	struct buf body;                /* collected body (error bodies too) */
	int64_t retry_after_ms;         /* from Retry-After; -1: none */
	int64_t date_wall_ms;           /* from Date: the server's clock, cut to seconds; 0: none */
	char etag[128];
	char content_type[128];
};

struct http_client;

int http_global_init(struct err *e);
struct http_client *http_client_new(const struct http_tls *tls, struct err *e); /* tls may be NULL */
void http_client_free(struct http_client *c);

/* Performs the request. 0: an HTTP answer of any status is in *r. -1: none (ERR_RETRY for refused, reset or unresolved; ERR_TIMEOUT;
 * ERR_DENIED for TLS verification; ERR_PROTOCOL, with the code EMSGSIZE for a body past its bound; ERR_CANCELED). *r is initialised
 * here; finish it in both cases. Redirects are not followed. */
int http_perform(struct http_client *c, const struct http_request *q, struct http_response *r, struct err *e);
void http_response_fini(struct http_response *r);

/* The error kind for an HTTP status: 401/403 DENIED, 404 NOT_FOUND, 409 CONFLICT, 410 GONE, 429/5xx RETRY, 400/422 INVALID, else PROTOCOL. */
enum err_kind http_status_kind(int status);

#endif
