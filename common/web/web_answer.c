/* What a handler makes of a response; nothing is sent here. Worker threads, and the network thread for its own refusals. */
#include "common/web/web_answer.h"

#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/web/web_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADERS_MAX 4096
#define PROBLEM_MAX 16384

const char *web_status_title(unsigned status)
{
	static const struct {
		unsigned status;
		const char *title;
	} titles[] = {
		{200, "OK"}, {201, "Created"}, {202, "Accepted"}, {204, "No Content"}, {304, "Not Modified"}, {400, "Bad Request"},
		{401, "Unauthorized"}, {403, "Forbidden"}, {404, "Not Found"}, {405, "Method Not Allowed"}, {408, "Request Timeout"},
		{409, "Conflict"}, {410, "Gone"}, {411, "Length Required"}, {413, "Content Too Large"}, {415, "Unsupported Media Type"},
		{421, "Misdirected Request"}, {422, "Unprocessable Content"}, {429, "Too Many Requests"}, {500, "Internal Server Error"},
		{501, "Not Implemented"}, {502, "Bad Gateway"}, {503, "Service Unavailable"}, {504, "Gateway Timeout"},
	};
	for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
		if (titles[i].status == status)
			return titles[i].title;
	return "Answer";
}

void web_response_init(struct web_response *r, struct web_exchange *x)
{
	*r = (struct web_response){.server = x->server, .exchange = x, .size = 0};
	buf_init(&r->headers, HEADERS_MAX);
}

void web_response_fini(struct web_response *r)
{
	buf_fini(&r->headers);
	free(r->media_type);
	free(r->owned);
	r->media_type = r->owned = NULL;
	r->bytes = NULL;
}

void web_respond_header(struct web_response *r, const char *name, const char *value)
{
	for (const char *c = value; *c; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
			return;
	buf_printf(&r->headers, "%s: %s\n", name, value);
}

/* A second answer would lose the first one's stream: it closes what it was given and leaves the first. */
static bool begin_response(struct web_response *r, unsigned status, const char *media_type, enum web_body_kind kind)
{
	if (r->status)
		return false;
	r->status = status;
	r->media_type = mem_strdup(media_type);
	r->kind = kind;
	return true;
}

void web_respond_static(struct web_response *r, unsigned status, const char *media_type, const void *body, size_t len)
{
	if (!begin_response(r, status, media_type, WEB_BODY_BYTES))
		return;
	r->bytes = body;
	r->size = (int64_t)len;
}

void web_respond_take(struct web_response *r, unsigned status, const char *media_type, char *body, size_t len)
{
	if (r->status) {
		free(body);
		return;
	}
	web_respond_static(r, status, media_type, body, len);
	r->owned = body;
}

void web_respond(struct web_response *r, unsigned status, const char *media_type, const void *body, size_t len)
{
	char *copy = mem_alloc(len + 1);
	if (len)
		memcpy(copy, body, len);
	web_respond_take(r, status, media_type, copy, len);
}

static void add_text(struct buf *out, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	buf_printf(out, ",\"%s\":", key);
	text_append_json(out, value, strlen(value));
}

void web_respond_problem(struct web_response *r, unsigned status, const char *reason, const char *field, const char *fmt, ...)
{
	char detail[1280];
	va_list args;
	va_start(args, fmt);
	vsnprintf(detail, sizeof detail, fmt, args);
	va_end(args);
	struct buf text;
	buf_init(&text, PROBLEM_MAX);
	buf_puts(&text, "{\"type\":\"about:blank\"");
	add_text(&text, "title", web_status_title(status));
	buf_printf(&text, ",\"status\":%u", status);
	add_text(&text, "detail", detail);
	add_text(&text, "reason", reason);
	add_text(&text, "field", field);
	buf_puts(&text, "}\n");
	size_t len = text.len;
	if (status == 401)
		web_respond_header(r, "www-authenticate", "Bearer");
	web_respond_take(r, status, "application/problem+json", buf_steal(&text), len);
}

/* Is `tag` in a list such as `"a", W/"b"`, or is the list "*"? Weak comparison, as If-None-Match has it. */
static bool holds_tag(const char *list, const char *tag)
{
	size_t len = strlen(tag);
	if (strcmp(list, "*") == 0)
		return true;
	for (const char *s = strchr(list, '"'); s; s = strchr(s, '"')) {
		s++;
		size_t n = strcspn(s, "\"");
		if (n == len && memcmp(s, tag, len) == 0)
			return true;
		s += n + (s[n] == '"');
	}
	return false;
}

bool web_respond_not_modified(struct web_response *r, const struct web_request *q, const char *tag)
{
	char quoted[160];
	snprintf(quoted, sizeof quoted, "\"%s\"", tag);
	web_respond_header(r, "etag", quoted);
	const char *known = q->headers[WEB_HEADER_IF_NONE_MATCH];
	if (!known || !holds_tag(known, tag))
		return false;
	begin_response(r, 304, NULL, WEB_BODY_NONE);
	return true;
}

void web_respond_stream(struct web_response *r, unsigned status, const char *media_type, int64_t size, struct web_stream stream)
{
	if (!begin_response(r, status, media_type, WEB_BODY_STREAM)) {
		stream.close(stream.ctx);
		return;
	}
	r->stream = stream;
	r->size = size;
}

static bool take_event_stream(struct web_server *s)
{
	pthread_mutex_lock(&s->lock);
	bool room = s->event_streams < s->config.max_event_streams;
	s->event_streams += room;
	pthread_mutex_unlock(&s->lock);
	return room;
}

struct web_waker *web_respond_events(struct web_response *r, struct web_events events)
{
	if (r->status || !take_event_stream(r->server)) {
		events.close(events.ctx);
		web_respond_header(r, "retry-after", "30");
		web_respond_problem(r, 503, NULL, NULL, "Too many clients follow events; ask for the session now and then instead.");
		return NULL;
	}
	struct web_waker *w = web_waker_new(r->exchange);
	begin_response(r, 200, "text/event-stream", WEB_BODY_EVENTS);
	r->events = events;
	r->size = -1;
	return w;
}
