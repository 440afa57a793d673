/* What a handler may know of a request. The route's worker thread. */
#ifndef DRDOTNET_WEB_REQUEST_H
#define DRDOTNET_WEB_REQUEST_H

#include <stddef.h>

struct web_request;

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
const void *web_request_body(const struct web_request *q, size_t *len); /* followed by a NUL */
/* The name of a query parameter that is not in the NULL-ended list, or NULL. */
const char *web_request_unknown_query(const struct web_request *q, const char *const *known);

#endif
