/* How an answer is sent: a piece at a time, when the reader has taken the last one. Network thread. */
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/web/web_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HEADERS_ROOM 6144

struct header_room {
	struct lws *wsi;
	unsigned char *at, *end;
	bool full;
};

static void add_header(struct header_room *h, const char *name, const char *value, size_t len)
{
	char with_colon[64];
	snprintf(with_colon, sizeof with_colon, "%s:", name);
	if (lws_add_http_header_by_name(h->wsi, (const unsigned char *)with_colon, (const unsigned char *)value, (int)len, &h->at, h->end))
		h->full = true;
}

static bool has_header(const struct buf *headers, const char *name)
{
	size_t len = strlen(name);
	for (const char *line = buf_str(headers); *line; line = strchr(line, '\n') + 1)
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			return true;
	return false;
}

static void add_own(struct header_room *h, const struct buf *headers)
{
	for (const char *line = buf_str(headers); *line; line = strchr(line, '\n') + 1) {
		char name[48];
		size_t len = strcspn(line, ":");
		snprintf(name, sizeof name, "%.*s", (int)len, line);
		add_header(h, name, line + len + 2, strcspn(line + len + 2, "\n"));
	}
}

/* What every answer says unless its handler has said otherwise. */
static void add_usual(struct header_room *h, const struct buf *headers)
{
	static const char *const usual[][2] = {
		{"cache-control", "no-store"},
		{"x-content-type-options", "nosniff"},
		{"referrer-policy", "no-referrer"},
		{"cross-origin-resource-policy", "same-origin"},
		{"content-security-policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"},
	};
	char date[40];
	time_t now = time(NULL);
	struct tm tm;
	strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm));
	add_header(h, "date", date, strlen(date));
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		if (!has_header(headers, usual[i][0]))
			add_header(h, usual[i][0], usual[i][1], strlen(usual[i][1]));
}

static bool is_chunked(const struct web_exchange *x)
{
	return x->response.size < 0 && !x->request.http10;
}

static bool has_body(const struct web_exchange *x)
{
	return !x->request.head && x->response.kind != WEB_BODY_NONE && x->response.size != 0;
}

static void add_body_headers(struct header_room *h, struct web_conn *c)
{
	const struct web_exchange *x = c->exchange;
	const struct web_response *r = &x->response;
	char number[24];
	snprintf(number, sizeof number, "%lld", (long long)r->size);
	if (r->media_type)
		add_header(h, "content-type", r->media_type, strlen(r->media_type));
	if (r->kind != WEB_BODY_NONE && r->size >= 0)
		add_header(h, "content-length", number, strlen(number));
	else if (is_chunked(x) && r->kind != WEB_BODY_NONE)
		add_header(h, "transfer-encoding", "chunked", 7);
	if (r->size < 0 && x->request.http10)
		c->close_after = true;
	if (c->close_after)
		add_header(h, "connection", "close", 5);
}

static int send_response_headers(struct web_conn *c)
{
	struct web_response *r = &c->exchange->response;
	AUTO_FREE unsigned char *frame = mem_alloc(LWS_PRE + HEADERS_ROOM);
	unsigned char *start = frame + LWS_PRE;
	struct header_room h = {.wsi = c->wsi, .at = start, .end = start + HEADERS_ROOM - 1};
	if (lws_add_http_header_status(c->wsi, r->status, &h.at, h.end))
		return -1;
	add_usual(&h, &r->headers);
	add_own(&h, &r->headers);
	add_body_headers(&h, c);
	if (h.full || lws_finalize_http_header(c->wsi, &h.at, h.end))
		return -1;
	c->headers_sent = true;
	return lws_write(c->wsi, start, (size_t)(h.at - start), LWS_WRITE_HTTP_HEADERS) < 0 ? -1 : 0;
}

/* len 0 with `last`: only the end of the chunks. */
static int write_piece(struct web_conn *c, const char *data, size_t len, bool chunked, bool last)
{
	unsigned char frame[LWS_PRE + WEB_PIECE_BYTES + 32], *start = frame + LWS_PRE, *p = start;
	if (chunked && len)
		p += snprintf((char *)p, 16, "%zx\r\n", len);
	memcpy(p, data, len);
	p += len;
	if (chunked && len)
		p = (unsigned char *)mempcpy(p, "\r\n", 2);
	if (chunked && last)
		p = (unsigned char *)mempcpy(p, "0\r\n\r\n", 5);
	c->sent += (int64_t)len;
	if (p == start)
		return 0;
	return lws_write(c->wsi, start, (size_t)(p - start), last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0 ? -1 : 0;
}

static int send_bytes(struct web_conn *c)
{
	const struct web_response *r = &c->exchange->response;
	int64_t left = r->size - c->sent;
	size_t n = left < WEB_PIECE_BYTES ? (size_t)left : WEB_PIECE_BYTES;
	bool last = (int64_t)n == left;
	if (write_piece(c, r->bytes + c->sent, n, false, last) < 0)
		return -1;
	if (last)
		return web_conn_finish(c);
	web_conn_want_write(c);
	return 0;
}

/* A stream that gave another number of bytes than it said must not look whole. */
static int send_end(struct web_conn *c)
{
	const struct web_exchange *x = c->exchange;
	if (x->failed || (x->response.size >= 0 && c->sent != x->response.size))
		return -1;
	if (write_piece(c, "", 0, is_chunked(x), true) < 0)
		return -1;
	if (x->response.kind == WEB_BODY_EVENTS)
		c->close_after = true; /* such a connection is rarely used again, and a browser has only six of them */
	return web_conn_finish(c);
}

static int send_response_chunk(struct web_conn *c)
{
	struct web_exchange *x = c->exchange;
	size_t n = x->chunk.len < WEB_PIECE_BYTES ? x->chunk.len : WEB_PIECE_BYTES;
	if (n == 0)
		return x->finished ? send_end(c) : 0;
	if (x->response.size >= 0 && c->sent + (int64_t)n > x->response.size)
		return -1;
	if (write_piece(c, x->chunk.data, n, is_chunked(x), false) < 0)
		return -1;
	buf_consume(&x->chunk, n);
	if (!x->chunk.len && x->response.kind == WEB_BODY_EVENTS) {
		c->quiet_since_ms = clock_mono_ms();
		buf_fini(&x->chunk);
	}
	web_conn_go_on(c);
	return 0;
}

int web_send(struct web_conn *c)
{
	struct web_exchange *x = c->exchange;
	if (!x->response.status)
		return 0;
	if (!c->headers_sent) {
		if (send_response_headers(c) < 0)
			return -1;
		if (!has_body(x))
			return web_conn_finish(c);
		c->quiet_since_ms = clock_mono_ms();
		if (x->response.kind == WEB_BODY_BYTES)
			web_conn_want_write(c);
		else
			web_conn_go_on(c);
		return 0;
	}
	return x->response.kind == WEB_BODY_BYTES ? send_bytes(c) : send_response_chunk(c);
}
