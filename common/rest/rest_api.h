/* The REST API under /api, on a web server (the page is page_files.h): routes, JSON in and out, problems, downloads as zip, events. What they
 * mean is the backend's (rest_backend.h); their shape is common/rest/openapi.json. Any thread but where it is said. */
#ifndef DRDOTNET_REST_API_H
#define DRDOTNET_REST_API_H

#include "common/rest/rest_backend.h"
#include "common/web/web_server.h"

struct rest_api;

/* The backend is copied, its ctx borrowed. */
struct rest_api *rest_api_new(const struct rest_backend *backend);

/* Adds the routes of /api, before the server's start. The API must outlive the server: free the server first. */
void rest_api_add_routes(struct rest_api *api, struct web_server *s);

void rest_api_free(struct rest_api *api);

#endif
