/* The report store's HTTP side on the link's ports: PUT /store/..., GET /reports/... The link server's thread. */
#ifndef DRDOTNET_HTTP_API_H
#define DRDOTNET_HTTP_API_H

#include <libwebsockets.h>

int http_api_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len);
size_t http_api_conn_size(void);

/* A whole answer, from within a callback, whose return value it is. */
int http_api_answer(struct lws *wsi, unsigned status, const char *media_type, const char *body, size_t len);

#endif
