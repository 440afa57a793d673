/* The controller's settings: one table of options, each also an environment variable; the command line wins. */
#ifndef DRDOTNET_CONTROLLER_OPTIONS_H
#define DRDOTNET_CONTROLLER_OPTIONS_H

#include "common/base/err.h"
#include "common/base/log.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum controller_command { CONTROLLER_RUN, CONTROLLER_HELP, CONTROLLER_VERSION };

struct controller_settings {
	enum controller_command command;
	const char *kubeconfig, *context;   /* NULL: $KUBECONFIG, else in-cluster */
	const char *namespace;              /* of the installation; NULL: of the kubeconfig or the pod */
	const char *watch_namespaces;       /* "a,b"; NULL: all */
	const char *lease_name;
	int64_t workers;
	int64_t max_pods, max_pods_per_node; /* profiled at once */
	const char *bind;                   /* NULL: all addresses */
	int64_t port, health_port;
	int64_t api_port;                   /* 0: none */
	const char *api_tls_cert, *api_tls_key; /* files; NULL: the link's certificate */
	bool api_plain_http;
	bool api_behind_gateway;            /* as with plain HTTP */
	bool rest_api, web_ui;
	bool container_starts;              /* sessions may wait for a container to start */
	const char *alertmanager_token_file; /* of the webhook on that port; NULL: it is off */
	const char *tls_cert, *tls_key;     /* files; NULL: self-made and published */
	const char *tls_secret, *tls_config_map; /* where, when self-made */
	int64_t tls_stage_seconds;          /* how long a new authority is published before it is used */
	const char *service;                /* the Service's name: what agents verify */
	const char *agent_account;          /* of the installation's namespace */
	const char *stores;                 /* file; NULL: only the own store */
	const char *reports;                /* folder of the own store; NULL: none */
	int64_t reports_quota_mib, reports_expiry_days;
	const char *upload_url, *public_url; /* of the own store; NULL: by the Service's name */
	enum log_level log_level;
	enum log_format log_format;
};

/* Values are borrowed from argv and the environment. ERR_INVALID names the option. */
int controller_options_parse(int argc, char *const argv[], const char *(*env)(const char *name), struct controller_settings *out, struct err *e);

void controller_options_usage(FILE *out);

#endif
