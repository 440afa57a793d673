/* The controller's REST API, as the plugin reaches it: --server URL (an Ingress), or kubectl's own port-forward to the controller with TLS
 * verified up to the controller, whose authority stands in the cluster. Why not the API server's proxy: docs/kubectl.md. One thread. */
#ifndef DRDOTNET_PLUGIN_REST_H
#define DRDOTNET_PLUGIN_REST_H

#include "controller/kubectl/plugin_connect.h"

#include <sys/types.h>

struct plugin_rest {
	struct http_client *http;
	char *base;   /* "https://host:port" */
	char *token;
	pid_t forward; /* 0: none */
	int forward_fd;
};

int plugin_rest_open(const struct plugin_args *a, struct plugin_connection *c, struct plugin_rest *out, struct err *e);
void plugin_rest_close(struct plugin_rest *r);

/* GET base/api/<segments>?<key>=<value>: JSON. `segments` is ended by NULL; each is encoded. `query`: pairs, ended by NULL; may be NULL. An answer
 * that is not 2xx becomes an error with the problem's detail. */
int plugin_rest_json(struct plugin_rest *r, const char *const *segments, const char *const *query, json_t **out, struct err *e);

/* The same for a body as it comes. */
int plugin_rest_bytes(struct plugin_rest *r, const char *const *segments, http_body_fn *on_body, void *ctx, struct err *e);

/* The port in kubectl's "Forwarding from 127.0.0.1:40123 -> 8444"; 0: not in there. Pure. */
int plugin_rest_forwarded_port(const char *line);

/* Whether a token may go there: https, or http to this machine. Pure. */
int plugin_rest_check_server(const char *url, struct err *e);

#endif
