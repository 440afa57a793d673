/* One connection: its requests one after the other, and how long each may take. Network thread. */
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/web/web_net.h"
#include "common/web/web_private.h"
#include "common/web/web_route.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DISCARD_MAX (8 << 20) /* of a refused body; of a longer one nothing is read, and the connection ends */
#define NOTHING_DUE_MS 3600000 /* a timer that lws 4.1 is to cancel fires at once, again and again */
#define GUESS_COST 4          /* a wrong token costs as many requests more */

/* Time ------------------------------------------------------------------------------------------------------------ */

static int64_t earlier_deadline(int64_t a, int64_t b)
{
	return a == 0 || (b && b < a) ? b : a;
}

static bool is_quiet(const struct web_conn *c)
{
	const struct web_exchange *x = c->exchange;
	return x->response.kind == WEB_BODY_EVENTS && c->headers_sent && !x->busy && !x->chunk.len && !x->finished;
}

/* While an answer is being made nothing is read, and lws would look again and again at what lies there: another request, or the end. While it
 * is to be written that must be borne: what may not be read lws 4.1 does not write to either. */
static void heed_input(struct web_conn *c)
{
	lws_rx_flow_control(c->wsi, !c->exchange || c->body_due || c->waiting_since_ms);
}

/* lws has one timer for a connection: for what is due first. */
static void arm(struct web_conn *c)
{
	const struct web_server_config *config = &c->server->config;
	int64_t at = c->exchange ? c->deadline_ms : 0;
	if (c->exchange && c->waiting_since_ms)
		at = earlier_deadline(at, c->waiting_since_ms + config->stall_timeout_s * 1000);
	if (c->exchange && is_quiet(c))
		at = earlier_deadline(at, c->quiet_since_ms + config->keep_alive_s * 1000);
	int64_t in_ms = at ? at - clock_mono_ms() : NOTHING_DUE_MS;
	if (!c->exchange) /* longer than lws's own limit, which not all of its states keep */
		in_ms = (config->idle_timeout_s + config->headers_timeout_s) * 1000;
	lws_set_timer_usecs(c->wsi, (in_ms > 1 ? in_ms : 1) * 1000);
	heed_input(c);
}

static int handle_conn_timer(struct web_conn *c)
{
	int64_t now = clock_mono_ms();
	if (!c || !c->exchange)
		return -1; /* no request has come */
	bool stalled = c->waiting_since_ms && now >= c->waiting_since_ms + c->server->config.stall_timeout_s * 1000;
	if (stalled || (c->deadline_ms && now >= c->deadline_ms)) {
		web_server_count(c->server, WEB_EVENT_TIMED_OUT, 0);
		return -1;
	}
	if (is_quiet(c) && now >= c->quiet_since_ms + c->server->config.keep_alive_s * 1000) {
		buf_fini(&c->exchange->chunk);
		buf_init(&c->exchange->chunk, 64);
		buf_puts(&c->exchange->chunk, ": keep-alive\n\n");
		web_conn_want_write(c);
	}
	arm(c);
	return 0;
}

void web_conn_want_write(struct web_conn *c)
{
	if (!c->waiting_since_ms)
		c->waiting_since_ms = clock_mono_ms();
	arm(c);
	lws_callback_on_writable(c->wsi);
}

/* Answers --------------------------------------------------------------------------------------------------------- */

static void begin_answer(struct web_conn *c)
{
	struct web_exchange *x = c->exchange;
	unsigned status = x->response.status;
	bool endless = x->response.kind == WEB_BODY_EVENTS;
	web_server_count(c->server, WEB_EVENT_REQUEST, status);
	struct web_client *client = lws_get_opaque_user_data(c->wsi);
	if (status == 401 && client)
		web_limits_charge(&c->server->limits, client, GUESS_COST);
	c->deadline_ms = endless ? 0 : clock_mono_ms() + c->server->config.answer_timeout_s * 1000;
	x->again = endless;
	web_conn_want_write(c);
}

void web_conn_go_on(struct web_conn *c)
{
	struct web_exchange *x = c->exchange;
	if (x->finished || x->chunk.len) {
		web_conn_want_write(c);
		return;
	}
	if (x->response.kind == WEB_BODY_STREAM || x->again) {
		x->again = false;
		if (web_exchange_submit(x, x->response.kind == WEB_BODY_STREAM ? WEB_TASK_READ : WEB_TASK_NEXT) < 0) {
			x->finished = x->failed = true; /* the server stops */
			web_conn_want_write(c);
		}
	}
	arm(c);
}

void web_conn_done(struct web_exchange *x)
{
	x->busy = false;
	struct web_conn *c = x->conn;
	if (!c)
		web_exchange_drop(x);
	else if (x->task == WEB_TASK_HANDLE)
		begin_answer(c);
	else
		web_conn_go_on(c);
}

void web_conn_woken(struct web_exchange *x)
{
	x->again = true;
	struct web_conn *c = x->conn;
	if (c && !x->busy && c->headers_sent && !x->chunk.len && !x->finished)
		web_conn_go_on(c);
}

int web_conn_finish(struct web_conn *c)
{
	bool must_close = c->close_after;
	web_exchange_drop(steal_ptr(&c->exchange));
	c->deadline_ms = c->waiting_since_ms = 0;
	arm(c);
	if (!must_close)
		return lws_http_transaction_completed(c->wsi) ? -1 : 0;
	c->all_sent = true;
	if (!lws_partial_buffered(c->wsi))
		return -1;
	lws_callback_on_writable(c->wsi);
	return 0;
}

static int on_writable(struct web_conn *c)
{
	c->waiting_since_ms = 0;
	if (c->all_sent)
		return -1;
	return c->exchange && !c->exchange->busy && !c->body_due ? web_send(c) : 0;
}

/* Requests -------------------------------------------------------------------------------------------------------- */

static void refuse_request(struct web_exchange *x, unsigned status, const char *detail)
{
	web_response_init(&x->response, x);
	web_respond_problem(&x->response, status, NULL, NULL, "%s", detail);
}

static void refuse_malformed(struct web_exchange *x, unsigned status)
{
	const char *detail = status == 405   ? "This method is not known here."
			     : status == 411 ? "Send the body with its Content-Length, not in chunks."
					     : "The request's path, query, length or headers are not well-formed, or GET or DELETE has a body.";
	refuse_request(x, status, detail);
	x->conn->close_after = true; /* where the next request begins cannot be known */
}

static bool admit_request(struct web_exchange *x)
{
	struct web_conn *c = x->conn;
	struct web_client *client = lws_get_opaque_user_data(c->wsi);
	int64_t wait_ms = client ? web_limits_request(&c->server->limits, client, clock_mono_ms()) : 0;
	if (!wait_ms)
		return true;
	char seconds[24];
	snprintf(seconds, sizeof seconds, "%lld", (long long)((wait_ms + 999) / 1000));
	web_server_count(c->server, WEB_EVENT_RATE_LIMITED, 0);
	refuse_request(x, 429, "Too many requests from this address; wait as long as Retry-After says.");
	web_respond_header(&x->response, "retry-after", seconds);
	return false;
}

static bool check_host(struct web_exchange *x)
{
	const struct web_server_config *config = &x->server->config;
	const char *host = x->request.headers[WEB_HEADER_HOST];
	if (!host && !x->request.http10) {
		refuse_malformed(x, 400);
		return false;
	}
	if (!config->host_allowed || config->host_allowed(config->host_ctx, host ? host : ""))
		return true;
	refuse_request(x, 421, "This server does not answer for the name in the Host header; use the address that it has printed.");
	return false;
}

static bool find_route(struct web_exchange *x)
{
	struct web_server *s = x->server;
	unsigned allowed;
	x->route = web_route_find(s->routes, s->route_count, x->request.path, x->request.method, &x->request, &allowed);
	if (x->route)
		return true;
	if (!allowed) {
		refuse_request(x, 404, "Nothing is here.");
		return false;
	}
	struct buf names;
	buf_init(&names, 128);
	web_route_print_methods(allowed, &names);
	refuse_request(x, 405, "This path does not take this method; Allow names those that it takes.");
	web_respond_header(&x->response, "allow", buf_str(&names));
	buf_fini(&names);
	return false;
}

static bool is_json(const char *type)
{
	static const char json[] = "application/json";
	size_t len = sizeof json - 1;
	return type && strncasecmp(type, json, len) == 0 && (type[len] == '\0' || type[len] == ';' || type[len] == ' ');
}

static bool check_body(struct web_exchange *x)
{
	const struct web_request *q = &x->request;
	/* Also without a body: a form of another site cannot send this header, so that no write is made by one. */
	if (q->method != WEB_GET && !x->route->any_media_type && !is_json(q->headers[WEB_HEADER_CONTENT_TYPE])) {
		refuse_request(x, 415, "Send Content-Type: application/json.");
		return false;
	}
	if (q->body_expected <= (int64_t)x->server->config.max_body_bytes)
		return true;
	char detail[96];
	snprintf(detail, sizeof detail, "A request's body may have %zu bytes here.", x->server->config.max_body_bytes);
	refuse_request(x, 413, detail);
	return false;
}

static void start_task(struct web_conn *c)
{
	struct web_exchange *x = c->exchange;
	c->deadline_ms = 0;
	arm(c);
	if (web_exchange_submit(x, WEB_TASK_HANDLE) == 0)
		return;
	web_server_count(c->server, WEB_EVENT_OVERLOADED, 0);
	refuse_request(x, 503, "The server has too much to do; try again.");
	web_respond_header(&x->response, "retry-after", "1");
	begin_answer(c);
}

/* A refused request's body is read to its end first: an answer before, and an end with bytes that nobody has read, would be lost on its way. */
static void go(struct web_conn *c)
{
	struct web_exchange *x = c->exchange;
	bool refused = x->response.status != 0;
	if (x->request.body_expected && (!refused || (!c->close_after && x->request.body_expected <= DISCARD_MAX))) {
		c->body_due = true;
		c->deadline_ms = clock_mono_ms() + c->server->config.body_timeout_s * 1000;
		arm(c);
		return;
	}
	if (x->request.body_expected)
		c->close_after = true;
	if (refused)
		begin_answer(c);
	else
		start_task(c);
}

static int begin_request(struct lws *wsi, struct web_conn *c, const char *path, size_t len)
{
	struct web_server *s = web_server_of(wsi);
	if (c->exchange)
		return -1;
	*c = (struct web_conn){.wsi = wsi, .server = s};
	struct web_exchange *x = c->exchange = web_exchange_new(s, c);
	lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0); /* the timer of ours takes over */
	/* lws has decoded the path, and with it a NUL. */
	int status = web_request_read(&x->request, wsi, strlen(path) == len ? path : "");
	if (status)
		refuse_malformed(x, (unsigned)status);
	else if (check_host(x) && admit_request(x) && find_route(x))
		check_body(x);
	/* Without a length there is no body; lws would wait for one. */
	if (x->request.method & (WEB_POST | WEB_PUT | WEB_PATCH) && lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) <= 0)
		c->close_after = true;
	go(c);
	return 0;
}

static int receive_request_body(struct web_conn *c, const void *data, size_t len)
{
	struct web_exchange *x = c->exchange;
	lws_set_timeout(c->wsi, NO_PENDING_TIMEOUT, 0);
	if (!c->body_due || !x)
		return len == 0 || c->close_after ? 0 : -1;
	if (!x->response.status && buf_append(&x->request.body, data, len) < 0)
		return -1;
	return 0;
}

static int received(struct web_conn *c)
{
	struct web_exchange *x = c->exchange;
	if (!c->body_due || !x)
		return 0;
	c->body_due = false;
	if (!x->response.status && (int64_t)x->request.body.len != x->request.body_expected)
		refuse_malformed(x, 400);
	if (x->response.status)
		begin_answer(c);
	else
		start_task(c);
	return 0;
}

static void drop_exchange(struct web_conn *c)
{
	if (c && c->exchange)
		web_exchange_drop(steal_ptr(&c->exchange));
}

int web_conn_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct web_conn *c = user;
	switch (reason) {
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		return web_net_pass_over_h2c(in) ? 0 : -1; /* no WebSocket here */
	case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
		return -1;
	case LWS_CALLBACK_HTTP:
		return begin_request(wsi, c, in, len);
	case LWS_CALLBACK_HTTP_BODY:
		return receive_request_body(c, in, len);
	case LWS_CALLBACK_HTTP_BODY_COMPLETION:
		return received(c);
	case LWS_CALLBACK_HTTP_WRITEABLE:
		return on_writable(c);
	case LWS_CALLBACK_TIMER:
		return handle_conn_timer(c);
	case LWS_CALLBACK_CLOSED_HTTP:
	case LWS_CALLBACK_HTTP_DROP_PROTOCOL:
		drop_exchange(c);
		return 0;
	default:
		return 0;
	}
}
