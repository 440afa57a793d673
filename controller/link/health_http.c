/* The plain port: /healthz (the thread answers, so it is alive), /readyz and /metrics. Nothing secret is here. */
#include "common/web/web_net.h"
#include "controller/link/http_api.h"
#include "controller/link/link_server_private.h"
#include "controller/base/metrics.h"

#include <string.h>

#define METRICS_MAX_BYTES (1024 * 1024)
#define CONNECTIONS_MAX 256 /* so that nobody takes the descriptors of the agents' links here */

static int answer_ready(struct lws *wsi, struct link_server *s)
{
	AUTO_BUF struct buf why;
	buf_init(&why, 1024);
	bool ready = !s->config.ready || s->config.ready(s->config.ready_ctx, &why);
	if (ready)
		return http_api_answer(wsi, HTTP_STATUS_OK, "text/plain", "ok\n", 3);
	return http_api_answer(wsi, HTTP_STATUS_SERVICE_UNAVAILABLE, "text/plain", buf_str(&why), why.len);
}

static int answer_metrics(struct lws *wsi, const struct link_server *s)
{
	if (s->config.measure)
		s->config.measure(s->config.ready_ctx);
	AUTO_BUF struct buf text;
	buf_init(&text, METRICS_MAX_BYTES);
	if (metrics_render(&text) < 0)
		return http_api_answer(wsi, HTTP_STATUS_INTERNAL_SERVER_ERROR, "text/plain", "too many metrics\n", 17);
	return http_api_answer(wsi, HTTP_STATUS_OK, "text/plain; version=0.0.4", buf_str(&text), text.len);
}

/* The vhost's own events. */
static int admit_health_connection(const struct link_server *s)
{
	if (s->health_connections < CONNECTIONS_MAX)
		return 0;
	metrics_count(METRIC_LINK_CLOSED, "TooManyConnections");
	return -1;
}

int health_http_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	(void)user, (void)len;
	const char *path = in;
	struct link_server *s = wsi ? link_server_of(wsi) : NULL;
	switch (reason) {
	case LWS_CALLBACK_FILTER_NETWORK_CONNECTION:
		return s ? admit_health_connection(s) : -1;
	case LWS_CALLBACK_WSI_CREATE:
		if (s)
			s->health_connections++;
		return 0;
	case LWS_CALLBACK_WSI_DESTROY:
		if (s && s->health_connections)
			s->health_connections--;
		return 0;
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		return web_net_pass_over_h2c(in) ? 0 : -1;
	case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
		return -1; /* no WebSocket here */
	case LWS_CALLBACK_HTTP:
		if (lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) <= 0)
			return http_api_answer(wsi, HTTP_STATUS_METHOD_NOT_ALLOWED, "text/plain", "only GET\n", 9);
		if (strcmp(path, "/healthz") == 0 || strcmp(path, "/livez") == 0)
			return http_api_answer(wsi, HTTP_STATUS_OK, "text/plain", "ok\n", 3);
		if (strcmp(path, "/readyz") == 0)
			return answer_ready(wsi, s);
		if (strcmp(path, "/metrics") == 0)
			return answer_metrics(wsi, s);
		return http_api_answer(wsi, HTTP_STATUS_NOT_FOUND, "text/plain", "not found\n", 10);
	default:
		return lws_callback_http_dummy(wsi, reason, user, in, len);
	}
}
