/* Context: any. */
#include "profiler/requests/call_event.h"

#include "profiler/requests/sql_shape.h"

#include <string.h>

#define HOST_MOST 80

enum call_moment call_event_moment(enum call_kind kind, uint32_t id)
{
	uint32_t first = kind == CALL_NPGSQL ? 3 : 1;

	if (id == first)
		return CALL_START;
	if (id == first + 1)
		return CALL_STOP;
	return kind != CALL_NPGSQL && id == 3 ? CALL_FAILED : CALL_OTHER;
}

static void begin_shape(struct path_shape *s, const char *kind)
{
	s->words = 0;
	s->len = (uint16_t)strlen(kind);
	memcpy(s->text, kind, s->len);
}

/* Of a host's or address's characters; others are no part of one. */
static void put_host(struct path_shape *s, const struct event_text *host)
{
	for (size_t i = 0; i < host->units && i < HOST_MOST; i++) {
		unsigned c = host->data[2 * i] | (unsigned)host->data[2 * i + 1] << 8;
		s->text[s->len++] = c > ' ' && c < 127 && c != '"' && c != '?' && c != '@' ? (char)c : '_';
	}
}

static void put_port(struct path_shape *s, uint32_t port)
{
	char digits[8];
	size_t n = 0;

	if (!port || port > 65535)
		return;
	for (; port; port /= 10)
		digits[n++] = (char)('0' + port % 10);
	s->text[s->len++] = ':';
	while (n)
		s->text[s->len++] = digits[--n];
}

bool call_event_start(enum call_kind kind, const uint8_t *data, size_t len, struct path_shape *out)
{
	static const char *const names[CALL_KINDS] = {"http ", "dns ", "connect ", "tls ", "sql "};
	struct event_text text;
	struct wire_reader r;

	begin_shape(out, names[kind]);
	wire_reader_init(&r, data, len);
	if (kind == CALL_HTTP)
		request_event_text(&r, &text); /* the scheme */
	else if (kind == CALL_TLS)
		wire_u32(&r); /* whether it is the server */
	if (r.bad)
		return false;
	request_event_text(&r, &text);
	if (r.bad)
		return false;
	if (kind == CALL_NPGSQL) {
		out->len = (uint16_t)(out->len + sql_shape_make(&text, out->text + out->len));
		return true;
	}
	if (kind != CALL_CONNECT) /* an address' bytes and family, of which the call to a name tells more */
		put_host(out, &text);
	if (kind == CALL_HTTP)
		put_port(out, wire_u32(&r));
	return !r.bad;
}
