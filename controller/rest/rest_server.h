/* The controller's door for people: the REST API and the web page on a port of their own. */
#ifndef DRDOTNET_REST_SERVER_H
#define DRDOTNET_REST_SERVER_H

#include "common/web/web_server.h"
#include "controller/rest/rest_cluster.h"

struct rest_server;

struct rest_server_config {
	const char *bind_address; /* NULL: all */
	int port;                 /* 0: any free one */
	const char *cert_pem, *key_pem; /* NULL: plain HTTP */
	bool behind_gateway;      /* all people have its address */
	bool rest_api, web_ui;    /* the page needs the API */
	struct rest_cluster_config cluster;
};

struct rest_server *rest_server_new(const struct rest_server_config *c);

/* For routes of others, before the start. */
struct web_server *rest_server_web(struct rest_server *s);

int rest_server_start(struct rest_server *s, struct err *e);

/* Any thread, never blocks; NULL is taken. */
void rest_server_session_changed(struct rest_server *s, const char *namespace, const char *name);

int rest_server_set_certificate(struct rest_server *s, const char *cert_pem, const char *key_pem, struct err *e);

/* Ends all requests. When the watch has ended: nobody calls rest_server_session_changed any more. Takes NULL. */
void rest_server_free(struct rest_server *s);

#endif
