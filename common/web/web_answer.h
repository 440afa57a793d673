/* What a handler answers: exactly one of web_respond..() in each (none: 500). The route's worker thread. */
#ifndef DRDOTNET_WEB_ANSWER_H
#define DRDOTNET_WEB_ANSWER_H

#include "common/base/buf.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct web_request;
struct web_response;
struct web_waker;

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

#endif
