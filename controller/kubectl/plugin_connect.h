/* The cluster that a command speaks to. One thread. */
#ifndef DRDOTNET_PLUGIN_CONNECT_H
#define DRDOTNET_PLUGIN_CONNECT_H

#include "controller/kube/kube_client.h"
#include "controller/kubectl/plugin_options.h"

struct plugin_connection {
	struct kube_config config;
	struct kube_client *client;
	const char *namespace; /* of the command line or the context; NULL: all */
};

/* `cancel_fd` may be -1. */
int plugin_connect(const struct plugin_args *a, int cancel_fd, struct plugin_connection *out, struct err *e);
void plugin_connection_fini(struct plugin_connection *c);

/* What a call about sessions (or one of them) is about. */
struct kube_ref plugin_connect_sessions(const struct plugin_connection *c, const char *name);

/* Says what to do where the API server's own words do not: no such resource, or no right. */
int plugin_connect_explain(struct err *e);

#endif
