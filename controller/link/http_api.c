/* Reports over HTTP on the link's port: an agent puts one by a signed URL, a person gets one with a token of the cluster.
 *
 *   PUT /store/<key>?size=..&sha256=..&expires=..&signature=..
 *   GET /reports/<namespace>/<session>-<uid8>/<pod>/<file>       Authorization: Bearer <token>
 *
 * A report is the work of pods that nobody trusts: it is served with a policy that lets its own scripts run in an origin of
 * its own, without network, and is never cached. Link thread only, but for the access review; the disk is others' business (store_call.h). */
#include "common/base/cleanup.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/report/report_policy.h"
#include "controller/link/http_api.h"
#include "controller/store/report_path.h"
#include "controller/kube/kube_clock.h"
#include "controller/link/link_server_private.h"
#include "controller/link/store_call.h"
#include "controller/base/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEADERS_ROOM 1536
#define BODY_MAX_BYTES (2 * STORE_CALL_PIECE_BYTES) /* that come while the store is at work: lws stops reading only after what it has in hand */
#define TOO_MANY "as many reports are on their way as the controller takes at once; try again later"

/* Allocated and zeroed by lws with the connection; used again for each request on it. */
struct http_conn {
	uint64_t id;                 /* 0: no request that waits for a review */
	struct lws *wsi;
	struct link_server *server;
	struct store_call *call;     /* an upload, or the report to be sent */
	struct buf body;             /* of an upload: what has come while the last piece is written */
	bool body_over, held;        /* all of it has come; nothing is read for now */
	char *refusal;               /* of an upload whose body is still under way */
	unsigned refusal_status;
	char *file_type;             /* of the report to be sent */
	bool as_attachment;
	bool headers_sent, broken;
	unsigned status;             /* to be answered in the next writable; 0: none */
	char *text;
	UT_hash_handle hh;
};

size_t http_api_conn_size(void)
{
	return sizeof(struct http_conn);
}

static void forget_request(struct http_conn *c)
{
	if (c->id)
		HASH_DEL(c->server->http_conns, c);
	c->id = 0;
	store_call_drop(steal_ptr(&c->call));
	buf_fini(&c->body);
	free(steal_ptr(&c->refusal));
	free(steal_ptr(&c->file_type));
	free(steal_ptr(&c->text));
	c->status = 0;
	c->body_over = c->held = c->headers_sent = c->broken = false;
}

/* Answers --------------------------------------------------------------------------------------------------------- */

int http_api_answer(struct lws *wsi, unsigned status, const char *media_type, const char *body, size_t len)
{
	AUTO_FREE unsigned char *frame = mem_realloc(NULL, LWS_PRE + HEADERS_ROOM + len, 1);
	unsigned char *start = frame + LWS_PRE, *p = start, *end = start + HEADERS_ROOM;
	if (lws_add_http_common_headers(wsi, status, media_type, len, &p, end))
		return -1;
	if (status == HTTP_STATUS_UNAUTHORIZED &&
	    lws_add_http_header_by_name(wsi, (const unsigned char *)"www-authenticate:", (const unsigned char *)"Bearer", 6, &p, end))
		return -1;
	if (lws_finalize_http_header(wsi, &p, end) || lws_write(wsi, start, (size_t)(p - start), LWS_WRITE_HTTP_HEADERS) < 0)
		return -1;
	memcpy(start, body, len);
	if (lws_write(wsi, start, len, LWS_WRITE_HTTP_FINAL) < 0)
		return -1;
	return lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int answer_http(struct lws *wsi, struct http_conn *c, unsigned status, const char *text)
{
	AUTO_FREE char *body = mem_printf("%s\n", text);
	forget_request(c);
	return http_api_answer(wsi, status, "text/plain; charset=utf-8", body, strlen(body));
}

static unsigned http_status(const struct err *e)
{
	switch (e->kind) {
	case ERR_DENIED:
		return e->code == 401 ? HTTP_STATUS_UNAUTHORIZED : HTTP_STATUS_FORBIDDEN;
	case ERR_NOT_FOUND:
		return HTTP_STATUS_NOT_FOUND;
	case ERR_INVALID:
	case ERR_PROTOCOL:
		return HTTP_STATUS_BAD_REQUEST;
	default:
		return HTTP_STATUS_SERVICE_UNAVAILABLE;
	}
}

/* From outside of an lws callback of this connection, as the next. */
static void write_again(struct http_conn *c)
{
	lws_rx_flow_control(c->wsi, 1);
	lws_callback_on_writable(c->wsi);
}

static void answer_later(struct http_conn *c, unsigned status, const char *text)
{
	c->status = status;
	free(c->text);
	c->text = mem_strdup(text);
	write_again(c);
}

/* Up -------------------------------------------------------------------------------------------------------------- */

static void read_http_query(struct lws *wsi, struct buf *out)
{
	char part[512];
	for (int i = 0; lws_hdr_copy_fragment(wsi, part, sizeof part, WSI_TOKEN_HTTP_URI_ARGS, i) > 0; i++)
		buf_printf(out, "%s%s", out->len ? "&" : "", part);
}

static int64_t http_content_length(struct lws *wsi)
{
	char text[24];
	if (lws_hdr_copy(wsi, text, sizeof text, WSI_TOKEN_HTTP_CONTENT_LENGTH) <= 0)
		return -1;
	char *end;
	long long n = strtoll(text, &end, 10);
	return *end || n < 0 ? -1 : n;
}

/* Answered when the body has come, unless it is longer than any report: an answer before, and a close with bytes that nobody has read, would be lost
 * on its way. In the form of S3's errors, which agents understand. */
static void refuse_upload(struct http_conn *c, const struct err *e)
{
	bool full = e->code == 0 || e->code == ENOSPC || e->code == EDQUOT;
	const char *code = e->kind == ERR_DENIED    ? "AccessDenied"
			   : e->kind == ERR_INVALID ? "InvalidReport"
			   : full		    ? "ReportStoreFull"
						    : "ReportStoreFailed";
	store_call_drop(steal_ptr(&c->call));
	free(c->refusal);
	c->refusal = mem_printf("<Error><Code>%s</Code><Message>%s</Message></Error>", code, e->message);
	c->refusal_status = http_status(e);
	LOG_WARN("store", "a report is not taken", LOG_S("error", e->message[0] ? e->message : ""));
	metrics_count(METRIC_STORE_REQUESTS, "refused");
}

static int answer_refusal(struct lws *wsi, struct http_conn *c)
{
	AUTO_FREE char *text = steal_ptr(&c->refusal);
	return answer_http(wsi, c, c->refusal_status, text);
}

/* The store has refused what it was given; the answer waits for the body's end. */
static void refuse_late(struct http_conn *c, const struct err *e)
{
	refuse_upload(c, e);
	if (c->body_over) {
		AUTO_FREE char *text = steal_ptr(&c->refusal);
		answer_later(c, c->refusal_status, text);
	} else if (c->held) {
		c->held = false;
		lws_rx_flow_control(c->wsi, 1);
	}
}

static void on_upload_committed(struct http_conn *c, struct store_call *call)
{
	if (call->error.kind != ERR_NONE) {
		struct err e = call->error;
		refuse_late(c, &e);
		return;
	}
	store_call_drop(steal_ptr(&c->call));
	metrics_count(METRIC_STORE_REQUESTS, "put");
	answer_later(c, HTTP_STATUS_OK, "stored");
}

static void push_body(struct http_conn *c);

static void on_upload_step(struct http_conn *c, struct store_call *call)
{
	struct err e = call->error;
	if (e.kind != ERR_NONE)
		refuse_late(c, &e);
	else
		push_body(c);
}

/* The next piece goes to the store when it is through with the last one; until then as much is taken as makes one. */
static void push_body(struct http_conn *c)
{
	struct store_call *call = c->call;
	bool hold = c->body_over || (call->at_work && c->body.len >= STORE_CALL_PIECE_BYTES);
	if (!call->at_work && c->body.len) {
		struct buf empty = call->piece;
		call->piece = c->body;
		c->body = empty;
		store_call_start(call, store_call_write, on_upload_step);
	} else if (!call->at_work && c->body_over) {
		store_call_start(call, store_call_commit, on_upload_committed);
	}
	if (hold != c->held)
		lws_rx_flow_control(c->wsi, !hold);
	c->held = hold;
}

static int receive_body(struct http_conn *c, const void *data, size_t len)
{
	if (c->refusal)
		return 0;
	if (!c->call || c->body_over || buf_append(&c->body, data, len) < 0)
		return -1;
	push_body(c);
	return 0;
}

static int end_upload(struct lws *wsi, struct http_conn *c)
{
	if (c->refusal)
		return answer_refusal(wsi, c);
	if (!c->call)
		return -1;
	c->body_over = true;
	push_body(c);
	return 0;
}

static int begin_upload(struct lws *wsi, struct http_conn *c, const char *key)
{
	struct err e = ERR_INIT;
	AUTO_BUF struct buf query;
	buf_init(&query, 2048);
	read_http_query(wsi, &query);
	int64_t length = http_content_length(wsi);
	int64_t size = report_upload_signed_size(c->server->config.reports, key, buf_str(&query), kube_clock_wall_ms(), &e);
	if (size >= 0 && length != size)
		err_set(&e, ERR_INVALID, 0, "content-length is not the signed size");
	else if (size >= 0 && !(c->call = store_call_new(c->server, c, key, buf_str(&query))))
		err_set(&e, ERR_RETRY, EBUSY, TOO_MANY);
	if (c->call) {
		buf_init(&c->body, LWS_PRE + BODY_MAX_BYTES);
		store_call_start(c->call, store_call_begin_upload, on_upload_step);
		return length > 0 ? 0 : end_upload(wsi, c); /* of an empty body nothing would be told */
	}
	refuse_upload(c, &e);
	return length > 0 && length <= REPORT_STORE_MAX_BYTES ? 0 : answer_refusal(wsi, c);
}

/* Down ------------------------------------------------------------------------------------------------------------ */

struct access_event {
	struct link_event ev;
	struct link_server *server;
	uint64_t conn;
	char *token, *key;
	struct report_path path;
	struct err error;
	bool good;
};

static void on_report_opened(struct http_conn *c, struct store_call *call)
{
	if (call->fd < 0) {
		unsigned status = http_status(&call->error);
		store_call_drop(steal_ptr(&c->call));
		answer_later(c, status, "no such report");
		return;
	}
	c->broken = call->error.kind != ERR_NONE;
	c->file_type = mem_strdup(report_path_media_type(strrchr(call->key, '/') + 1));
	c->as_attachment = strncmp(c->file_type, "text/html", 9) != 0;
	write_again(c);
}

static void on_report_read(struct http_conn *c, struct store_call *call)
{
	c->broken = call->error.kind != ERR_NONE;
	lws_callback_on_writable(c->wsi);
}

static void open_stored_report(struct http_conn *c, const char *key)
{
	c->call = store_call_new(c->server, c, key, NULL);
	if (c->call)
		store_call_start(c->call, store_call_open, on_report_opened);
	else
		answer_later(c, HTTP_STATUS_SERVICE_UNAVAILABLE, TOO_MANY);
}

static void deliver_access(struct link_server *s, struct link_event *ev)
{
	struct access_event *a = (struct access_event *)ev;
	struct http_conn *c = NULL;
	HASH_FIND(hh, s->http_conns, &a->conn, sizeof a->conn, c);
	if (c) {
		HASH_DEL(s->http_conns, c);
		c->id = 0;
		if (a->good)
			open_stored_report(c, a->key);
		else
			answer_later(c, http_status(&a->error), a->error.kind == ERR_DENIED ? a->error.message : "try again later");
	}
	free(a->key);
	free(a);
}

static void run_access(void *arg, struct kube_client *kube)
{
	struct access_event *a = arg;
	if (kube)
		a->good = token_review_access(kube, a->token, "get", a->path.namespace, a->path.session, &a->error) == 0;
	else
		err_set(&a->error, ERR_CANCELED, 0, "the controller stops");
	OPENSSL_cleanse(a->token, strlen(a->token));
	free(a->token);
	a->token = NULL;
	link_server_post(a->server, &a->ev);
}

static int begin_download(struct lws *wsi, struct http_conn *c, const char *key)
{
	struct report_path path;
	if (report_path_parse(key, &path) < 0)
		return answer_http(wsi, c, HTTP_STATUS_NOT_FOUND, "no such report");
	AUTO_FREE char *token = link_server_bearer(wsi);
	if (!token)
		return answer_http(wsi, c, HTTP_STATUS_UNAUTHORIZED, "send a token of the cluster: Authorization: Bearer ...");
	struct access_event *a = mem_alloc(sizeof *a);
	a->ev.deliver = deliver_access;
	a->server = c->server;
	a->conn = c->id = ++c->server->next_id;
	a->token = mem_strdup(token);
	a->key = mem_strdup(key);
	a->path = path;
	HASH_ADD(hh, c->server->http_conns, id, sizeof c->id, c);
	struct err e = ERR_INIT;
	if (review_pool_submit(c->server->pool, run_access, a, &e) == 0) {
		lws_rx_flow_control(wsi, 0); /* lws would look again and again at what lies there unread */
		return 0;
	}
	free(a->token);
	free(a->key);
	free(a);
	return answer_http(wsi, c, HTTP_STATUS_SERVICE_UNAVAILABLE, e.message);
}

static int add_http_header(struct lws *wsi, const char *name, const char *value, unsigned char **p, unsigned char *end)
{
	return lws_add_http_header_by_name(wsi, (const unsigned char *)name, (const unsigned char *)value, (int)strlen(value), p, end);
}

static int send_report_headers(struct lws *wsi, struct http_conn *c)
{
	unsigned char frame[LWS_PRE + HEADERS_ROOM], *start = frame + LWS_PRE, *p = start, *end = frame + sizeof frame - 1;
	lws_filepos_t length = (lws_filepos_t)c->call->left + c->call->piece.len - LWS_PRE;
	if (lws_add_http_common_headers(wsi, HTTP_STATUS_OK, c->file_type, length, &p, end) ||
	    add_http_header(wsi, "content-security-policy:", REPORT_POLICY, &p, end) || add_http_header(wsi, "x-content-type-options:", "nosniff", &p, end) ||
	    add_http_header(wsi, "cache-control:", "no-store", &p, end) || add_http_header(wsi, "referrer-policy:", "no-referrer", &p, end) ||
	    add_http_header(wsi, "cross-origin-resource-policy:", "same-origin", &p, end) ||
	    add_http_header(wsi, "content-disposition:", c->as_attachment ? "attachment" : "inline", &p, end) || lws_finalize_http_header(wsi, &p, end))
		return -1;
	c->headers_sent = true;
	metrics_count(METRIC_STORE_REQUESTS, "get");
	return lws_write(wsi, start, (size_t)(p - start), LWS_WRITE_HTTP_HEADERS) < 0 ? -1 : 0;
}

static int send_report_piece(struct lws *wsi, struct http_conn *c)
{
	struct store_call *call = c->call;
	unsigned char *piece = (unsigned char *)call->piece.data + LWS_PRE;
	bool last = call->left == 0;
	if (lws_write(wsi, piece, call->piece.len - LWS_PRE, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0)
		return -1;
	if (!last) {
		store_call_start(call, store_call_next_piece, on_report_read);
		return 0;
	}
	forget_request(c);
	return lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int write_more(struct lws *wsi, struct http_conn *c)
{
	if (c->status) {
		AUTO_FREE char *text = steal_ptr(&c->text);
		return answer_http(wsi, c, c->status, text);
	}
	if (c->broken)
		return -1; /* shorter than promised: the connection must not look complete */
	if (!c->file_type || c->call->at_work)
		return 0;
	if (c->headers_sent)
		return send_report_piece(wsi, c);
	if (send_report_headers(wsi, c) < 0)
		return -1;
	lws_callback_on_writable(wsi);
	return 0;
}

/* Requests -------------------------------------------------------------------------------------------------------- */

static int begin_http_request(struct lws *wsi, struct http_conn *c, const char *path)
{
	c->wsi = wsi;
	c->server = link_server_of(wsi);
	lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, c->server->config.request_timeout_s);
	lws_set_timer_usecs(wsi, c->server->config.request_timeout_s * LWS_US_PER_SEC);
	bool put = lws_hdr_total_length(wsi, WSI_TOKEN_PUT_URI) > 0, get = lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) > 0;
	if (c->server->config.reports && put && strncmp(path, "/store/", 7) == 0)
		return begin_upload(wsi, c, path + 7);
	if (c->server->config.reports && get && strncmp(path, "/reports/", 9) == 0)
		return begin_download(wsi, c, path + 9);
	return answer_http(wsi, c, HTTP_STATUS_NOT_FOUND, "not found");
}

int http_api_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct http_conn *c = user;
	switch (reason) {
	case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
		return -1; /* a WebSocket without the subprotocol */
	case LWS_CALLBACK_HTTP:
		return begin_http_request(wsi, c, in);
	case LWS_CALLBACK_HTTP_BODY:
		return receive_body(c, in, len);
	case LWS_CALLBACK_HTTP_BODY_COMPLETION:
		return end_upload(wsi, c);
	case LWS_CALLBACK_HTTP_WRITEABLE:
		return write_more(wsi, c);
	case LWS_CALLBACK_TIMER:
		return -1; /* drips for too long */
	case LWS_CALLBACK_CLOSED_HTTP:
	case LWS_CALLBACK_HTTP_DROP_PROTOCOL:
		if (c && c->server)
			forget_request(c);
		return 0;
	default:
		return 0;
	}
}
