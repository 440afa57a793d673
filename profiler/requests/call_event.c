/* Context: any. */
#include "profiler/requests/call_event.h"

#include "profiler/requests/sql_shape.h"

#include <string.h>

#define HOST_MOST 80
#define LONGEST_MS 1e9

static enum call_moment command_moment(const uint8_t *metadata, size_t len)
{
	struct event_text name;
	struct wire_reader r;

	wire_reader_init(&r, metadata, len);
	wire_u32(&r);
	if (r.bad)
		return CALL_OTHER;
	request_event_text(&r, &name);
	if (r.bad)
		return CALL_OTHER;
	return event_text_is(&name, "CommandStart", true) ? CALL_START : event_text_is(&name, "CommandStop", true) ? CALL_STOP : CALL_OTHER;
}

enum call_moment call_event_moment(enum call_kind kind, uint32_t id, const uint8_t *metadata, size_t len)
{
	if (kind == CALL_NPGSQL)
		return command_moment(metadata, len);
	if (kind == CALL_HTTP && id == 4)
		return CALL_OPENED;
	if (kind == CALL_HTTP && id == 6)
		return CALL_QUEUED;
	return id == 1 ? CALL_START : id == 2 ? CALL_STOP : id == 3 ? CALL_FAILED : CALL_OTHER;
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
		out->len = (uint16_t)(out->len + sql_shape_make(&text, SQL_OF_POSTGRES, out->text + out->len));
		return true;
	}
	if (kind != CALL_CONNECT) /* an address' bytes and family, of which the call to a name tells more */
		put_host(out, &text);
	if (kind == CALL_HTTP)
		put_port(out, wire_u32(&r));
	return !r.bad;
}

bool call_event_opened(const uint8_t *data, size_t len, struct path_shape *out)
{
	struct event_text text;
	struct wire_reader r;

	begin_shape(out, "opened ");
	wire_reader_init(&r, data, len);
	wire_u16(&r);
	wire_u64(&r);
	if (r.bad)
		return false;
	request_event_text(&r, &text); /* the scheme */
	if (r.bad)
		return false;
	request_event_text(&r, &text);
	if (r.bad)
		return false;
	put_host(out, &text);
	put_port(out, wire_u32(&r));
	return !r.bad;
}

bool call_event_queued(const uint8_t *data, size_t len, uint64_t *ns)
{
	uint64_t bits;
	double ms;
	struct wire_reader r;

	wire_reader_init(&r, data, len);
	bits = wire_u64(&r);
	memcpy(&ms, &bits, sizeof ms);
	if (r.bad || !(ms >= 0 && ms <= LONGEST_MS))
		return false;
	*ns = (uint64_t)(ms * 1e6);
	return true;
}

bool call_event_queue_shape(const char *call, size_t len, struct path_shape *out)
{
	static const char http[] = "http ";
	size_t prefix = sizeof http - 1;

	if (len < prefix || memcmp(call, http, prefix) != 0)
		return false;
	begin_shape(out, "http connection ");
	if (len - prefix > PATH_SHAPE_BYTES - (size_t)out->len)
		len = prefix + PATH_SHAPE_BYTES - out->len;
	memcpy(out->text + out->len, call + prefix, len - prefix);
	out->len = (uint16_t)(out->len + len - prefix);
	return true;
}
