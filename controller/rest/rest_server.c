#include "controller/rest/rest_server.h"

#include "common/base/mem.h"
#include "common/rest/rest_events.h"
#include "common/web_ui/page_files.h"
#include "common/rest/rest_api.h"
#include "controller/base/metrics.h"

#include <stdio.h>
#include <stdlib.h>

#define PROXY_CONNECTIONS 512
#define PROXY_REQUESTS_PER_SECOND 500

struct rest_server {
	struct rest_cluster *cluster; /* NULL: no REST API */
	struct rest_api *api;
	struct web_server *web;
};

/* A few hundreds of statuses would be as many series: their class is enough. */
static void count_status(unsigned status)
{
	static const char *const classes[] = {"other", "1xx", "2xx", "3xx", "4xx", "5xx"};
	metrics_count(METRIC_REST_REQUESTS, classes[status / 100 < 6 ? status / 100 : 0]);
}

static void count_web_event(void *ctx, enum web_event event, unsigned status)
{
	(void)ctx;
	static const char *const refusals[] = {[WEB_EVENT_REFUSED_CONNECTION] = "TooManyConnections", [WEB_EVENT_RATE_LIMITED] = "RateLimited",
					       [WEB_EVENT_TIMED_OUT] = "TimedOut", [WEB_EVENT_OVERLOADED] = "Overloaded"};
	if (event == WEB_EVENT_REQUEST)
		count_status(status);
	else
		metrics_count(METRIC_REST_REFUSED, refusals[event]);
}

static void open_api(struct rest_server *s, const struct rest_server_config *c)
{
	struct rest_backend backend;
	s->cluster = rest_cluster_new(&c->cluster);
	rest_cluster_backend(s->cluster, &backend);
	s->api = rest_api_new(&backend);
	rest_api_add_routes(s->api, s->web);
	if (c->web_ui)
		page_files_add_routes(s->web);
}

struct rest_server *rest_server_new(const struct rest_server_config *c)
{
	struct rest_server *s = mem_alloc(sizeof *s);
	struct web_server_config web = {
		.bind_address = c->bind_address,
		.port = c->port,
		.cert_pem = c->cert_pem,
		.key_pem = c->key_pem,
		.count = count_web_event,
	};
	if (c->behind_gateway) {
		web.max_connections_per_client = PROXY_CONNECTIONS;
		web.requests_per_second = PROXY_REQUESTS_PER_SECOND;
		web.request_burst = 2 * PROXY_REQUESTS_PER_SECOND;
	}
	s->web = web_server_new(&web);
	if (c->rest_api)
		open_api(s, c);
	return s;
}

struct web_server *rest_server_web(struct rest_server *s)
{
	return s->web;
}

int rest_server_start(struct rest_server *s, struct err *e)
{
	if (web_server_start(s->web, e) < 0)
		return err_prefix(e, "the REST API's port");
	return 0;
}

void rest_server_session_changed(struct rest_server *s, const char *namespace, const char *name)
{
	if (s && s->api)
		rest_api_session_changed(s->api, namespace, name);
}

int rest_server_set_certificate(struct rest_server *s, const char *cert_pem, const char *key_pem, struct err *e)
{
	return web_server_set_certificate(s->web, cert_pem, key_pem, e);
}

/* First what blocks the workers is canceled, then no worker runs any more. */
void rest_server_free(struct rest_server *s)
{
	if (!s)
		return;
	rest_cluster_stop(s->cluster);
	web_server_free(s->web);
	rest_api_free(s->api);
	rest_cluster_free(s->cluster);
	free(s);
}
