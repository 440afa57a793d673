/* Which route does a path mean? Pure. */
#ifndef DRDOTNET_WEB_ROUTE_H
#define DRDOTNET_WEB_ROUTE_H

#include "common/web/web_private.h"

/* Is this a path that we look at? It begins with '/', is UTF-8 without control characters and backslashes, and no segment is empty (but the
 * last), "." or "..". */
bool web_route_path_is_plain(const char *path);

/* The first route whose pattern matches the path and whose methods have the method; its parameters go into *q. NULL: none; then *allowed has the methods
 * of those whose pattern matches, 0 when there are none. */
const struct web_route *web_route_find(const struct web_route *routes, size_t count, const char *path, enum web_method method,
				       struct web_request *q, unsigned *allowed);

/* "GET, HEAD, POST" */
void web_route_print_methods(unsigned methods, struct buf *out);

#endif
